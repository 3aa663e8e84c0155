public import SignalboxCore

/// Sets limits and an order for the calls of one plugin.
///
/// Pass options to a ``Registration`` if the defaults do not fit, for example to allow several calls at once or to
/// retry failed calls:
///
/// ```swift
/// let options = PluginOptions<Payment>(timeout: .seconds(10), maxConcurrent: 4, retry: RetryPolicy())
/// ```
public struct PluginOptions<Info>: Sendable {
    /// The timeout of each attempt, or `nil` for the supervisor's default. Must be greater than zero.
    public var timeout: Duration? { didSet { check() } }
    /// The order in which actions are called. By default, the actions from each source run in order.
    public var order: LaneOrder<Info>
    /// The maximum number of calls that run at once, for all sources together. Must be between 1 and 10,000; the
    /// default is 1.
    public var maxConcurrent: Int { didSet { check() } }
    /// How failed calls are retried. The default is `nil`, which means that failed calls are not retried.
    public var retry: RetryPolicy?
    /// When to pause a plugin that fails repeatedly. The default is `nil`, which means that there is no circuit
    /// breaker.
    public var circuitBreaker: CircuitBreakerPolicy?
    /// What happens to an action if the plugin is unavailable. By default, the action becomes a dead letter.
    ///
    /// The plugin is unavailable to an action if the call timed out, if an earlier call has not returned, or if the
    /// circuit breaker is open.
    public var whenUnavailable: RetryExhaustion
    /// Middleware around each call of this plugin, outermost first.
    public var middleware: [any Middleware]
    /// Whether the thread that submits a message calls the plugin, instead of a task of the plugin's lane. The default is
    /// `false`.
    ///
    /// Set this for a plugin whose calls take microseconds, if latency or processor time matters: it saves two switches
    /// between threads for each batch. While the call runs, the source's thread does nothing else: it reads no messages,
    /// answers no pings and serves none of its other connections. Do not set it for a plugin that reads files, waits for a
    /// lock or asks another program.
    ///
    /// A thread calls the plugin only if the plugin is idle and the submission has at most 64 messages, all for this plugin.
    /// Otherwise, and while there is middleware, the lane makes the calls. The order of the calls, the timeout and all other
    /// options hold in any case. The lane also takes over what is left of a submission that is in progress at two ticks
    /// (``SupervisorConfiguration/tick``). If one call is in progress at two ticks, the lane makes all later calls, and a log
    /// line says so.
    ///
    /// If a call never returns, ``Supervisor/run()`` and ``Supervisor/remove(source:)`` leave the source's adapter behind when
    /// the time for a drain is over. Its connections and ports may then still be in use.
    ///
    /// Only a synchronous plugin with the order ``LaneOrder/source``, one call at once and no middleware in its options can
    /// have this option.
    public var runsInline: Bool

    /// Creates options.
    ///
    /// - Precondition: All values are within their ranges.
    public init(
        timeout: Duration? = nil,
        order: LaneOrder<Info> = .source,
        maxConcurrent: Int = 1,
        retry: RetryPolicy? = nil,
        circuitBreaker: CircuitBreakerPolicy? = nil,
        whenUnavailable: RetryExhaustion = .deadLetter,
        middleware: [any Middleware] = [],
        runsInline: Bool = false
    ) {
        self.timeout = timeout
        self.order = order
        self.maxConcurrent = maxConcurrent
        self.retry = retry
        self.circuitBreaker = circuitBreaker
        self.whenUnavailable = whenUnavailable
        self.middleware = middleware
        self.runsInline = runsInline
        check()
    }

    private func check() {
        precondition((1...10_000).contains(maxConcurrent), "a plugin runs 1 to 10,000 calls at once")
        precondition(timeout.map { $0 > .zero } ?? true, "the timeout of a call must be positive")
    }
}

/// Determines which of a plugin's actions wait for each other.
///
/// At most `maxConcurrent` calls run at once, regardless of the order.
public struct LaneOrder<Info>: Sendable {
    @usableFromInline
    enum Rule: Sendable {
        case source
        case none
        case key(@Sendable (Info) -> LaneKey)
    }

    @usableFromInline
    let rule: Rule

    @usableFromInline
    init(_ rule: Rule) { self.rule = rule }

    /// The actions from one source run one after the other, in the order in which they were submitted. The sources take
    /// turns.
    public static var source: LaneOrder { LaneOrder(.source) }

    /// Actions start in the order in which they were submitted, but can end in any order.
    public static var none: LaneOrder { LaneOrder(.none) }

    /// Actions with equal keys run one after the other, in the order in which they were submitted, even if they come
    /// from different sources. Use this for actions that change the same thing, for example with `.key(\.customer)`.
    ///
    /// The body is decoded once, before the action joins its group, and therefore before attempts and middleware. If
    /// the body does not decode, the action is rejected at that point, without an attempt. Decoding has a separate
    /// timeout, which equals the plugin's.
    ///
    /// - Parameter key: A closure that returns the key of an action. The closure is called once per action, on any
    ///   thread, and must not block. The key's `hash(into:)` and `==` run while the lane is locked, so they must be
    ///   fast and must not call the supervisor.
    @inlinable
    public static func key<Key: Hashable & Sendable>(_ key: @escaping @Sendable (Info) -> Key) -> LaneOrder {
        LaneOrder(.key { LaneKey(key($0)) })
    }
}

/// A key that divides a plugin's actions into independent groups.
///
/// Strings and integers are the most common keys, so they are compared directly. Other types are compared as
/// `AnyHashable`, which has to determine the dynamic type every time.
@usableFromInline
enum LaneKey: Sendable {
    case text(String)
    case number(Int)
    case other(any Hashable & Sendable)

    @inlinable
    init<Value: Hashable & Sendable>(_ value: Value) {
        if let text = value as? String {
            self = .text(text)
        } else if let number = value as? Int {
            self = .number(number)
        } else {
            self = .other(value)
        }
    }
}

extension LaneKey: Equatable {
    /// A key that refers to no object.
    static let none = LaneKey.number(0)

    @usableFromInline
    static func == (left: LaneKey, right: LaneKey) -> Bool {
        switch (left, right) {
        case (.text(let left), .text(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.other(let left), .other(let right)): AnyHashable(left) == AnyHashable(right)
        default: false
        }
    }

    /// Returns a hash that senders cannot predict, because they choose the keys. It costs a fraction of what `Hasher` costs.
    func fastHash(_ hash: SeededHash) -> UInt64 {
        switch self {
        case .text(let text): LaneKey.hash(of: text, hash)
        case .number(let number): withUnsafeBytes(of: number) { hash.value(of: $0) }
        case .other(let value): UInt64(bitPattern: Int64(AnyHashable(value).hashValue))
        }
    }

    /// Texts are equal if they look the same, and may then differ in their bytes. Only ASCII text is hashed by its bytes.
    private static func hash(of text: String, _ hash: SeededHash) -> UInt64 {
        if let fast = hashOfASCII(text, hash) { return fast }
        let simple = String(String.UnicodeScalarView(text.unicodeScalars.map { equalToASCII[$0] ?? $0 }))
        return hashOfASCII(simple, hash) ?? UInt64(bitPattern: Int64(text.hashValue))
    }

    private static func hashOfASCII(_ text: String, _ hash: SeededHash) -> UInt64? {
        var text = text
        return text.withUTF8 { bytes in
            bytes.allSatisfy { $0 < 0x80 } ? hash.value(of: UnsafeRawBufferPointer(bytes)) : nil
        }
    }

    /// The characters beyond ASCII that are equal to an ASCII character (Unicode's canonical decompositions).
    private static let equalToASCII: [Unicode.Scalar: Unicode.Scalar] = [
        "\u{37E}": ";", "\u{1FEF}": "`", "\u{212A}": "K",
    ]
}

/// Determines how often a failed call is retried, and with which delays. Only failures that the plugin marks as
/// retryable are retried.
///
/// The delay before a retry is random, between zero and a maximum that doubles with each retry ("full jitter"), and is
/// counted in ticks of the supervisor's timer.
///
/// If a source redelivers and has no journal, its arrivals have an ack deadline (``SupervisorConfiguration/ackDeadline``). A retry is not
/// made if it could only start after this deadline or after the action's deadline. The action then fails, and the
/// error's `RetryExhaustion` determines what happens to the action. A call that timed out is not retried, because it
/// may still be running.
public struct RetryPolicy: Sendable, Hashable {
    /// The maximum number of calls for one action, including the first. Must be between 1 and 100; the default is 3.
    public var attempts: Int { didSet { check() } }
    /// The maximum delay before the second call. Must be greater than zero; the default is 200 ms. This delay is also
    /// limited by ``longestDelay``.
    public var firstDelay: Duration { didSet { check() } }
    /// The maximum delay before any call. Must be greater than zero; the default is 5 s.
    public var longestDelay: Duration { didSet { check() } }
    /// How long after an action was dispatched another call of it may begin, or `nil` for any time, which is the default. Must be
    /// greater than zero. Together with a journal (``SourceDurability/journal(_:)``), retries may span hours.
    public var upTo: Duration? { didSet { check() } }

    /// Creates a retry policy.
    ///
    /// - Precondition: All values are within their ranges.
    public init(
        attempts: Int = 3,
        firstDelay: Duration = .milliseconds(200),
        longestDelay: Duration = .seconds(5),
        upTo: Duration? = nil
    ) {
        self.attempts = attempts
        self.firstDelay = firstDelay
        self.longestDelay = longestDelay
        self.upTo = upTo
        check()
    }

    private func check() {
        precondition((1...100).contains(attempts), "a retry policy allows 1 to 100 attempts")
        precondition(
            firstDelay > .zero && longestDelay > .zero && upTo.map { $0 > .zero } ?? true,
            "the durations of a retry policy must be positive"
        )
    }
}

extension RetryPolicy {
    /// The maximum of `RetryableError.retryDelay`, so that a server cannot stop a plugin for good.
    static let longestRequestedDelay = Duration.seconds(3_600)

    /// Returns the maximum delay after the given attempt, in ticks.
    func longestTicks(afterAttempt attempt: Int, _ tick: Duration) -> UInt64 {
        var longest = firstDelay
        var doublings = attempt - 1
        while doublings > 0, longest < longestDelay {
            longest += longest
            doublings -= 1
        }
        return TickCount.ticks(in: min(longest, longestDelay), of: tick)
    }
}

/// Pauses the calls of a plugin that fails repeatedly. Use this to take the load off a service that is down, and to
/// answer callers without a delay.
///
/// After ``failures`` failed actions in a row, the breaker opens, and actions for the plugin are
/// `rejected(unavailable)`. After ``openFor``, it lets one action through. If that action is handled, the breaker
/// closes. If the action fails, the breaker stays open for the same time again.
///
/// Each action is counted once, after its last attempt. Rejected and abandoned actions are not counted. While the
/// breaker is closed, failures with `RetryExhaustion.abandon` are not counted either.
public struct CircuitBreakerPolicy: Sendable, Hashable {
    /// How many actions must fail in a row to open the breaker. Must be between 1 and 1,000,000; the default is 5.
    public var failures: Int { didSet { check() } }
    /// How long the breaker stays open before it lets one action through. Must be greater than zero; the default is 30
    /// s.
    public var openFor: Duration { didSet { check() } }

    /// Creates a circuit breaker policy.
    ///
    /// - Precondition: Both values are within their ranges.
    public init(failures: Int = 5, openFor: Duration = .seconds(30)) {
        self.failures = failures
        self.openFor = openFor
        check()
    }

    private func check() {
        precondition((1...1_000_000).contains(failures), "a circuit breaker opens after 1 to 1,000,000 failures")
        precondition(openFor > .zero, "the time a circuit breaker stays open must be positive")
    }
}

/// The ``PluginOptions`` that do not depend on the plugin's `Info`.
@usableFromInline
struct LaneOptions: Sendable {
    let timeout: Duration?
    let order: Order
    let maxConcurrent: Int
    let retry: RetryPolicy?
    let circuitBreaker: CircuitBreakerPolicy?
    let whenUnavailable: RetryExhaustion
    let middleware: [any Middleware]
    let runsInline: Bool
    /// Checks whether a body decodes as the plugin's `Info`, and returns the error or, on success, `nil`. This check is
    /// used only by explanations, does not call the plugin, and is slower than the plugin's own decoding.
    let check: @Sendable (Body) -> BodyError?

    enum Order: Sendable { case source, none, key }

    @usableFromInline
    init<Info: Decodable & Sendable>(_ options: PluginOptions<Info>) {
        timeout = options.timeout
        order =
            switch options.order.rule {
            case .source: .source
            case .none: .none
            case .key: .key
            }
        maxConcurrent = options.maxConcurrent
        retry = options.retry
        circuitBreaker = options.circuitBreaker
        whenUnavailable = options.whenUnavailable
        middleware = options.middleware
        runsInline = options.runsInline
        check = { body in
            do throws(BodyError) {
                _ = try body.decode(Info.self)
                return nil
            } catch {
                return error
            }
        }
    }
}
