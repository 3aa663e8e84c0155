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
