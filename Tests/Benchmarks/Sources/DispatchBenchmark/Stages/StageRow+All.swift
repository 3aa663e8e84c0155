import InMemoryTracing
import Metrics
import Signalbox
import SignalboxCore
import Tracing

extension StageRow {
    /// Every row, those that others are compared with before them.
    static var all: [StageRow] { plain + around + before + lanes + registered }

    private static let plain = [
        StageRow(nothing, allocations: 9, "-"),
        StageRow("async handler", allocations: 9, "-") { $0.isAsync = true },
        StageRow("unknown action, so a dead letter", allocations: 19, "-") { $0.isHandled = false },
    ]

    private static let around = [
        StageRow("one middleware that passes on", allocations: 9, "-") { $0.middleware = [PassMiddleware()] },
        StageRow("four middlewares that pass on", allocations: 9, "-") {
            $0.middleware = [PassMiddleware(), PassMiddleware(), PassMiddleware(), PassMiddleware()]
        },
        StageRow("the same one, for the plugin alone", allocations: 9, "-") { $0.options.middleware = [PassMiddleware()] },
        StageRow("metrics", allocations: 9, "-") {
            $0.middleware = [MetricsMiddleware(factory: NOOPMetricsHandler.instance)]
        },
        StageRow("tracing, a tracer that does nothing", allocations: 9, "-") {
            $0.middleware = [TracingMiddleware(tracer: NoOpTracer())]
        },
        StageRow("tracing, into memory", allocations: 99, "-") {
            let tracer = InMemoryTracer()
            $0.middleware = [TracingMiddleware(tracer: tracer)]
            $0.forget = { tracer.clearAll() }
        },
        StageRow("onOutcome", allocations: 9, "-") { $0.configuration.onOutcome = { _ in } },
    ]

    private static let before = [
        StageRow("repeats, of which there are none", allocations: 9, "-") { $0.repeats = .within(RepeatLimits()) },
        StageRow("deadline, far away", allocations: 9, "-") { $0.hasDeadline = true },
        StageRow("rate limit that refuses, not reached", allocations: 9, "-") {
            $0.rateLimit = RateLimit(perSecond: 10_000_000)
        },
        StageRow("rate limit that slows, not reached", allocations: 9, "-") {
            $0.rateLimit = RateLimit(perSecond: 10_000_000)
            $0.features = .redelivers
        },
        StageRow("circuit breaker, closed", allocations: 9, "-") {
            $0.options.circuitBreaker = CircuitBreakerPolicy()
        },
        StageRow("retry, of which there is none", allocations: 9, "-") { $0.options.retry = RetryPolicy() },
        StageRow("timeout of a day", allocations: 9, "-") { $0.options.timeout = .seconds(86_400) },
        StageRow("all of these, and metrics", allocations: 9, "-") {
            $0.repeats = .within(RepeatLimits())
            $0.hasDeadline = true
            $0.rateLimit = RateLimit(perSecond: 10_000_000)
            $0.options.circuitBreaker = CircuitBreakerPolicy()
            $0.options.retry = RetryPolicy()
            $0.middleware = [MetricsMiddleware(factory: NOOPMetricsHandler.instance)]
        },
    ]

    private static let lanes = [
        StageRow("two sources on one lane", allocations: 9, "-") { $0.sources = ["benchmark", "other"] },
        StageRow("order of none, 4 at once", allocations: 9, "-") {
            $0.options.order = .none
            $0.options.maxConcurrent = 4
        },
        StageRow("order of none, 4 at once, two sources", allocations: 9, "-") {
            $0.options.order = .none
            $0.options.maxConcurrent = 4
            $0.sources = ["benchmark", "other"]
        },
        StageRow("order of 4 keys, 1 at once", beside: "async handler", allocations: 9, "-") {
            $0.options.order = .key(\.paymentId)
            $0.keys = 4
            $0.isAsync = true
        },
        StageRow("order of 4 keys, 4 at once", beside: "async handler", allocations: 9, "-") {
            $0.options.order = .key(\.paymentId)
            $0.options.maxConcurrent = 4
            $0.keys = 4
            $0.isAsync = true
        },
        StageRow("order of 1,000 keys, 4 at once", beside: "async handler", allocations: 9, "-") {
            $0.options.order = .key(\.paymentId)
            $0.options.maxConcurrent = 4
            $0.keys = 1_000
            $0.isAsync = true
        },
    ]

    private static let one = "1 action registered"
    private static let two = "2 actions registered, both called in turns"

    private static let registered = [
        StageRow(one, allocations: 9, "-") { $0.registered = 1 },
        StageRow("100 actions registered", beside: one, allocations: 9, "-", timeBar: 1.25) { $0.registered = 100 },
        StageRow("10,000 actions registered", beside: one, allocations: 9, "-", timeBar: 1.25) { $0.registered = 10_000 },
        StageRow(two, allocations: 9, "-") {
            $0.registered = 2
            $0.called = ["payment", "refunds"]
        },
        StageRow("100, two called in turns", beside: two, allocations: 9, "-", timeBar: 1.25) {
            $0.registered = 100
            $0.called = ["payment", "refunds"]
        },
        StageRow("10,000, two called in turns", beside: two, allocations: 9, "-", timeBar: 1.25) {
            $0.registered = 10_000
            $0.called = ["payment", "refunds"]
        },
    ]
}
