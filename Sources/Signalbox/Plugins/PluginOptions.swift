public import SignalboxCore

/// The limits and the order of one plugin's calls.
///
/// Pass options to a ``Registration`` when the defaults do not fit, for example to allow several calls at once or to
/// retry failed ones:
///
/// ```swift
/// PluginOptions<Payment>(timeout: .seconds(10), maxConcurrent: 4, retry: RetryPolicy())
/// ```
public struct PluginOptions<Info>: Sendable {
    /// The timeout of each attempt, or `nil` for the supervisor's default. A timeout must be above zero.
    public var timeout: Duration? { didSet { check() } }
    /// The order of the plugin's actions. By default, the actions of each source run in order.
    public var order: LaneOrder<Info>
    /// The maximum number of concurrent calls for all sources together. The valid range is 1 to 10,000, and the default
    /// is 1.
    public var maxConcurrent: Int { didSet { check() } }
    /// The policy for retrying failed calls. By default, it is `nil`, and failed calls are not retried.
    public var retry: RetryPolicy?
    /// The policy for the circuit breaker. By default, it is `nil`, and there is no circuit breaker.
    public var circuitBreaker: CircuitBreakerPolicy?
    /// The treatment of an action whose plugin is unavailable. The call of such an action either timed out, or was not
    /// made because an earlier call has not returned or because the circuit breaker is open. By default, the action
    /// becomes a dead letter.
    public var whenUnavailable: RetryExhaustion
    /// The middleware around each call of this plugin, outermost first.
    public var middleware: [any Middleware]

    /// Creates options.
    ///
    /// - Precondition: All values are in their ranges.
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
        precondition((1...10_000).contains(maxConcurrent), "a plugin runs 1 to 10,000 calls at once")
        precondition(timeout.map { $0 > .zero } ?? true, "the timeout of a call must be positive")
    }
}

/// A rule that determines which actions of a plugin wait for each other.
///
/// With every rule, at most `maxConcurrent` calls run at once.
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

    /// An order in which the actions of one source run as submitted, one after the other. The sources take turns.
    public static var source: LaneOrder { LaneOrder(.source) }

    /// An order in which actions start as submitted and may end in any order.
    public static var none: LaneOrder { LaneOrder(.none) }

    /// Returns an order in which actions with equal keys run as submitted, whatever their sources are. Use it for
    /// actions that change the same thing, for example with `.key(\.customer)`.
    ///
    /// The body is decoded once, before the action joins its group and before attempts and middleware. If a body does
    /// not decode, the action is rejected there, without an attempt. Decoding has a separate timeout, which equals the
    /// plugin's.
    ///
    /// - Parameter key: A closure that returns the key of an action. It is called once per action, on any thread, and
    ///   must not block. The `hash(into:)` and `==` of the key run while the lane is locked, so they must be fast and
    ///   must not call the supervisor.
    @inlinable
    public static func key<Key: Hashable & Sendable>(_ key: @escaping @Sendable (Info) -> Key) -> LaneOrder {
        LaneOrder(.key { LaneKey(key($0)) })
    }
}

/// The key that separates the actions of one plugin into independent groups.
///
/// Strings and integers are the most common keys, so they are compared directly. Other types are compared as
/// `AnyHashable`, which has to determine the dynamic type each time.
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

/// A policy for retrying failures that the plugin marks as retryable, with back-off.
///
/// The wait before a retry is random between zero and a limit that doubles each time ("full jitter"). It is counted in
/// ticks of the supervisor's timer.
///
/// The arrivals of a source that redelivers have an ack deadline (``SupervisorConfiguration/ackDeadline``). If a retry
/// could start only after this deadline or after the action's own deadline, the retry is not made, and the action
/// fails. The `RetryExhaustion` of the error then determines how the action is treated. A call that timed out is not
/// retried, because it may still be running.
public struct RetryPolicy: Sendable, Hashable {
    /// The maximum number of calls for one action, including the first. The valid range is 1 to 100, and the default is
    /// 3.
    public var attempts: Int { didSet { check() } }
    /// The maximum wait before the second call. It must be above zero, and the default is 200 ms. ``longestDelay``
    /// bounds this wait too.
    public var firstDelay: Duration { didSet { check() } }
    /// The maximum wait before any call. It must be above zero, and the default is 5 s.
    public var longestDelay: Duration { didSet { check() } }

    /// Creates a retry policy.
    ///
    /// - Precondition: All values are in their ranges.
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
        precondition(firstDelay > .zero && longestDelay > .zero, "the delays of a retry policy must be positive")
    }
}

extension RetryPolicy {
    /// Returns the maximum wait after the given attempt, in ticks.
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

/// A policy for pausing the calls of a plugin that fails repeatedly. Use it to spare a service that is down, and to
/// answer callers without a wait.
///
/// After ``failures`` failed actions in a row the breaker opens, and actions for the plugin are
/// `rejected(unavailable)`. After ``openFor`` it lets one action through. If that action is handled, the breaker
/// closes. If it fails, the breaker stays open for the same time again.
///
/// An action counts once, after its last attempt. Rejected and abandoned actions do not count. While the breaker is
/// closed, failures with `RetryExhaustion.abandon` do not count either.
public struct CircuitBreakerPolicy: Sendable, Hashable {
    /// The number of consecutive failed actions that open the breaker. The valid range is 1 to 1,000,000, and the
    /// default is 5.
    public var failures: Int { didSet { check() } }
    /// The time for which the breaker stays open before it lets one action through. It must be above zero, and the
    /// default is 30 s.
    public var openFor: Duration { didSet { check() } }

    /// Creates a circuit breaker policy.
    ///
    /// - Precondition: Both values are in their ranges.
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

/// The part of ``PluginOptions`` that does not depend on the plugin's `Info`.
@usableFromInline
struct LaneOptions: Sendable {
    let timeout: Duration?
    let order: Order
    let maxConcurrent: Int
    let retry: RetryPolicy?
    let circuitBreaker: CircuitBreakerPolicy?
    let whenUnavailable: RetryExhaustion
    let middleware: [any Middleware]
    /// Decodes a body as the plugin's `Info`, and returns the error or, on success, `nil`. Only explanations use this
    /// closure. It does not call the plugin, and it is slower than the plugin's own decoding.
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
