import InMemoryTracing
import Metrics
import Signalbox
import SignalboxCore
import Tracing

extension StageRow {
    /// Every row, those that others are compared with before them.
    static var all: [StageRow] { plain + middleware + admission + lanes + registered }

    private static let plain = [
        StageRow(nothing, allocations: 3, "two strings longer than 15 bytes, and the box around a keyed container"),
        StageRow("async handler", allocations: 3, noMore) { $0.isAsync = true },
        StageRow(
            "no such plugin, so a dead letter",
            allocations: 6,
            "copies of name, id and message, an object and its bytes for each; nothing is decoded"
        ) { $0.isHandled = false },
    ]

    private static let middleware = [
        StageRow("a middleware that passes on", allocations: 3, onTheTask) { $0.middleware = [PassMiddleware()] },
        StageRow("four of them", allocations: 3, onTheTask) {
            $0.middleware = [PassMiddleware(), PassMiddleware(), PassMiddleware(), PassMiddleware()]
        },
        StageRow("one, for the plugin alone", allocations: 3, onTheTask) {
            $0.options.middleware = [PassMiddleware()]
        },
        StageRow("metrics", allocations: 3, "none more: they are made once for each source and plugin") {
            $0.middleware = [MetricsMiddleware(factory: NOOPMetricsHandler.instance)]
        },
        StageRow("tracing, a tracer that does nothing", allocations: 3, "none more, for an action of 7 letters") {
            $0.middleware = [TracingMiddleware(tracer: NoOpTracer())]
        },
        StageRow("tracing, into memory", allocations: 39, "36 of the tracer: ids, attributes, the span itself") {
            let tracer = InMemoryTracer()
            $0.middleware = [TracingMiddleware(tracer: tracer)]
            $0.forget = { tracer.clearAll() }
        },
        StageRow("onOutcome", allocations: 3, noMore) { $0.configuration.onOutcome = { _ in } },
    ]

    private static let admission = [
        StageRow("repeats, none among them", allocations: 3, "none more: the table has all its places") {
            $0.repeats = .within(RepeatLimits())
        },
        StageRow("repeats, every second one", allocations: 2, "half of the calls; a list of who waits for each") {
            $0.repeats = .within(RepeatLimits())
            $0.messagesPerID = 2
        },
        StageRow("deadline, far away", allocations: 3, noMore) { $0.hasDeadline = true },
        StageRow("rate limit that refuses, not reached", allocations: 3, noMore, timeBar: 1.25) {
            $0.rateLimit = RateLimit(perSecond: 10_000_000)
        },
        StageRow("rate limit that slows, not reached", allocations: 3, noMore, timeBar: 1.25) {
            $0.rateLimit = RateLimit(perSecond: 10_000_000)
            $0.features = .redelivers
        },
        StageRow("circuit breaker, closed", allocations: 3, noMore, timeBar: 1.25) {
            $0.options.circuitBreaker = CircuitBreakerPolicy()
        },
        StageRow("retry, nothing fails", allocations: 3, noMore, timeBar: 1.25) { $0.options.retry = RetryPolicy() },
        StageRow("timeout of a day", allocations: 3, noMore, timeBar: 1.25) {
            $0.options.timeout = .seconds(86_400)
        },
        StageRow("all of these, and metrics", allocations: 3, noMore) {
            $0.repeats = .within(RepeatLimits())
            $0.hasDeadline = true
            $0.rateLimit = RateLimit(perSecond: 10_000_000)
            $0.options.circuitBreaker = CircuitBreakerPolicy()
            $0.options.retry = RetryPolicy()
            $0.middleware = [MetricsMiddleware(factory: NOOPMetricsHandler.instance)]
        },
    ]

    private static let lanes = [
        StageRow("two sources on one lane", allocations: 3, noMore) { $0.sources = ["benchmark", "other"] },
        StageRow("no order, 4 at once", allocations: 3, noMore) {
            $0.options.order = .none
            $0.options.maxConcurrent = 4
        },
        StageRow("no order, 4 at once, two sources", allocations: 3, noMore) {
            $0.options.order = .none
            $0.options.maxConcurrent = 4
            $0.sources = ["benchmark", "other"]
        },
        keyed("4 keys, 1 at once", keys: 4, atOnce: 1),
        keyed("4 keys, 4 at once", keys: 4, atOnce: 4),
        keyed("1,000 keys, 4 at once", keys: 1_000, atOnce: 4),
    ]

    private static let registered = [
        StageRow(one, allocations: 3, noMore) { $0.registered = 1 },
        StageRow("100 registered", beside: one, allocations: 3, noMore, timeBar: 1.25) { $0.registered = 100 },
        StageRow("10,000 registered", beside: one, allocations: 3, noMore, timeBar: 1.25) { $0.registered = 10_000 },
        inTurns(two, of: 2, beside: nothing),
        inTurns("100 registered, two called in turns", of: 100, beside: two),
        inTurns("10,000 registered, two called in turns", of: 10_000, beside: two),
    ]

    private static let one = "1 action registered"
    private static let two = "2 registered, called in turns"
    private static let noMore = "none more"
    private static let onTheTask = "none more: its frame is the task's own memory"

    private static func keyed(_ name: String, keys: Int, atOnce: Int) -> StageRow {
        let reason = "the decoded body, kept with its call until the key's turn"
        return StageRow(name, beside: "async handler", allocations: 4, reason) {
            $0.options.order = .key(\.paymentId)
            $0.options.maxConcurrent = atOnce
            $0.keys = keys
            $0.isAsync = true
        }
    }

    private static func inTurns(_ name: String, of registered: Int, beside base: String) -> StageRow {
        let reason = "none more; some 40 a batch, which is put together anew for each plugin"
        return StageRow(name, beside: base, allocations: 3, reason, timeBar: base == nothing ? nil : 1.25) {
            $0.registered = registered
            $0.called = ["payment", "refunds"]
        }
    }
}
