public import SignalboxCore

/// How the calls of one plugin are bounded and ordered.
public struct PluginOptions<Info>: Sendable {
    /// How long one call may take, each attempt for itself, above zero; the supervisor's own when `nil`.
    public var timeout: Duration? { didSet { check() } }
    /// Which actions wait for each other; those of one source by default.
    public var order: LaneOrder<Info>
    /// The most calls at once, of all sources together, 1 to 10,000; 1 by default.
    public var maxConcurrent: Int { didSet { check() } }
    /// Whether a failed call is made again; never when `nil`, which is the default.
    public var retry: RetryPolicy?
    /// Whether the plugin is left alone after failures; never when `nil`, which is the default.
    public var circuitBreaker: CircuitBreakerPolicy?
    /// What happens to an action whose call timed out, or was not made because an earlier call has not returned or the circuit
    /// breaker is open; a dead letter by default.
    public var whenUnavailable: RetryExhaustion
    /// What stands around each call of this plugin, the outermost first.
    public var middleware: [any Middleware]

    /// - Precondition: the values are in their ranges.
    public init(
        timeout: Duration? = nil,
        order: LaneOrder<Info> = .source,
        maxConcurrent: Int = 1,
        retry: RetryPolicy? = nil,
        circuitBreaker: CircuitBreakerPolicy? = nil,
        whenUnavailable: RetryExhaustion = .deadLetter,
        middleware: [any Middleware] = []
    ) {
        self.timeout = timeout
        self.order = order
        self.maxConcurrent = maxConcurrent
        self.retry = retry
        self.circuitBreaker = circuitBreaker
        self.whenUnavailable = whenUnavailable
        self.middleware = middleware
        check()
    }

    private func check() {
        precondition((1...10_000).contains(maxConcurrent), "a plugin has 1 to 10,000 calls at once")
        precondition(timeout.map { $0 > .zero } ?? true, "a call may take more than no time")
    }
}

/// Which actions of a plugin must wait for each other.
///
/// In every order at most `maxConcurrent` calls run at once.
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

    /// Those of one source, in the order in which they were submitted. Sources take turns.
    public static var source: LaneOrder { LaneOrder(.source) }

    /// None: they begin in the order in which they were submitted, and end as they end.
    public static var none: LaneOrder { LaneOrder(.none) }

    /// Those with equal keys, from whatever source, in the order in which they were submitted: `.key(\.customer)`.
    ///
    /// The body is decoded once, before the action waits for its turn: before the lane, attempts and middleware. One that does
    /// not decode is rejected there, without an attempt. Decoding has the plugin's timeout for itself.
    ///
    /// - Parameter key: called once per action, on any thread; must not block. The key's `hash(into:)` and `==` are called while the
    ///   lane is locked: they must be quick, and must not call the supervisor.
    @inlinable
    public static func key<Key: Hashable & Sendable>(_ key: @escaping @Sendable (Info) -> Key) -> LaneOrder {
        LaneOrder(.key { LaneKey(key($0)) })
    }
}

/// What tells apart the actions of one plugin that need not wait for each other.
///
/// Texts and integers, which are most keys, are compared as what they are; anything else as `AnyHashable`, which has to find
/// out each time what it holds.
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

extension LaneKey: Hashable {
    @usableFromInline
    static func == (left: LaneKey, right: LaneKey) -> Bool {
        switch (left, right) {
        case (.text(let left), .text(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.other(let left), .other(let right)): AnyHashable(left) == AnyHashable(right)
        default: false
        }
    }

    @usableFromInline
    func hash(into hasher: inout Hasher) {
        switch self {
        case .text(let text): text.hash(into: &hasher)
        case .number(let number): number.hash(into: &hasher)
        case .other(let value): value.hash(into: &hasher)
        }
    }
}

/// How often and when a plugin is called again after it failed in a way that it calls retryable.
///
/// The wait before a further attempt is random between zero and a limit that doubles each time ("full jitter"), counted
/// in ticks of the supervisor's timer. A source that redelivers holds an arrival for
/// ``SupervisorConfiguration/holdLimit`` only: an attempt that could begin only after it, or after the action's deadline, is
/// not made, and the action has failed. The plugin's error then decides what happens to it: `RetryExhaustion`.
/// A call that timed out is not retried, as it may still be running.
public struct RetryPolicy: Sendable, Hashable {
    /// The most calls for one action, the first included, 1 to 100; 3 by default.
    public var attempts: Int { didSet { check() } }
    /// The longest wait before the second call, above zero; 200 ms by default. ``longestDelay`` bounds it too.
    public var firstDelay: Duration { didSet { check() } }
    /// The longest wait before any call, above zero; 5 s by default.
    public var longestDelay: Duration { didSet { check() } }

    /// - Precondition: the values are in their ranges.
    public init(
        attempts: Int = 3,
        firstDelay: Duration = .milliseconds(200),
        longestDelay: Duration = .seconds(5)
    ) {
        self.attempts = attempts
        self.firstDelay = firstDelay
        self.longestDelay = longestDelay
        check()
    }

    private func check() {
        precondition((1...100).contains(attempts), "a retry policy allows 1 to 100 attempts")
        precondition(firstDelay > .zero && longestDelay > .zero, "a retry policy has delays above zero")
    }
}

extension RetryPolicy {
    /// The longest wait after so many attempts, in ticks.
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

/// When a plugin that fails again and again is left alone for a while.
///
/// After so many failed actions in a row the breaker opens: what comes for the plugin is `rejected(unavailable)`. When
/// ``openFor`` is over one action is let through; if it is handled the breaker closes, if it fails it stays open for as
/// long again. An action counts once, after its last attempt; a rejected one says nothing about the plugin.
public struct CircuitBreakerPolicy: Sendable, Hashable {
    /// How many failed actions in a row open it, 1 to 1,000,000; 5 by default.
    public var failures: Int { didSet { check() } }
    /// How long it stays open before one action is tried, above zero; 30 s by default.
    public var openFor: Duration { didSet { check() } }

    /// - Precondition: the values are in their ranges.
    public init(failures: Int = 5, openFor: Duration = .seconds(30)) {
        self.failures = failures
        self.openFor = openFor
        check()
    }

    private func check() {
        precondition((1...1_000_000).contains(failures), "a circuit breaker opens after 1 to 1,000,000 failures")
        precondition(openFor > .zero, "a circuit breaker stays open for more than no time")
    }
}

/// ``PluginOptions`` without what depends on the plugin's `Info`.
@usableFromInline
struct LaneOptions: Sendable {
    let timeout: Duration?
    let order: Order
    let maxConcurrent: Int
    let retry: RetryPolicy?
    let circuitBreaker: CircuitBreakerPolicy?
    let whenUnavailable: RetryExhaustion
    let middleware: [any Middleware]
    /// What decoding a body as the plugin's `Info` finds wrong, or `nil`. For explanations: it calls no plugin, and is
    /// slower than the plugin's own decoding.
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
