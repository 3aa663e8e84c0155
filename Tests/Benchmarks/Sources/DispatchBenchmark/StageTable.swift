import Foundation
import InMemoryTracing
import MarkdownTable
import PrometheusMetrics
import Signalbox
import SignalboxCore
import Tracing

/// Times each row and its base alternately in rounds, and prints medians of the ratios. Measures the processor time of
/// this process, which other load on the machine does not affect.
enum StageTable {
    private static let messages = 256 * 20

    private struct Times {
        var own: [Double] = []
        var ratios: [Double] = []
    }

    static func print(rounds: Int, only prefix: String) async throws {
        let rows = StageRow.all.filter { $0.name.hasPrefix(prefix) }
        var ways: [String: StageWay] = [:]
        for row in StageRow.all where rows.contains(where: { $0.name == row.name || $0.base == row.name }) {
            ways[row.name] = try StageWay(row)
        }
        var times: [String: Times] = [:]
        for round in 0...rounds {
            for row in rows {
                guard let way = ways[row.name], let base = ways[row.base] else { continue }
                let before = try await time(base)
                let own = try await time(way)
                let after = try await time(base)
                guard round > 0 else { continue }
                times[row.name, default: Times()].own.append(own)
                times[row.name, default: Times()].ratios.append(own * 2 / (before + after))
            }
        }
        for way in ways.values { await way.stop() }
        show(rows, times)
    }

    private static func time(_ way: StageWay) async throws -> Double {
        let start = ProcessorTime.now
        try await way.dispatch(messages)
        return (ProcessorTime.now - start) / Double(messages)
    }

    private static func show(_ rows: [StageRow], _ times: [String: Times]) {
        let columns = ["row", "ns a message", "times", "compared with", "bar", "allocations"]
        var table = MarkdownTable("stages", columns: columns)
        for row in rows {
            let measured = times[row.name] ?? Times()
            let ratio = Figure.median(measured.ratios)
            let isBase = row.name == row.base
            table.add([
                row.name,
                Figure.whole(Figure.median(measured.own)),
                isBase ? "" : Figure.ratio(ratio),
                isBase ? "" : row.base,
                row.timeBar.map { Figure.verdict(ratio <= $0, bar: $0) } ?? "",
                row.allocationsAndReason,
            ])
        }
        table.print()
    }
}

/// A row of the table of stages: the enabled stages, the base for comparison, and the permitted cost.
struct StageRow: Sendable {
    let name: String
    /// The name of the row with which this row alternates.
    let base: String
    let setting: StageSetting
    /// The allocations per action at a batch size of 256. The batch itself may add up to ``perBatch``.
    let allocations: Double
    /// The reason for the allocations.
    let reason: String
    /// The maximum time as a multiple of the base's; `nil` for no limit.
    let timeBar: Double?

    init(
        _ name: String,
        beside base: String = StageRow.nothing,
        allocations: Double,
        _ reason: String,
        timeBar: Double? = nil,
        _ change: (inout StageSetting) -> Void = { _ in }
    ) {
        self.name = name
        self.base = base
        self.allocations = allocations
        self.reason = reason
        self.timeBar = timeBar
        var setting = StageSetting()
        change(&setting)
        self.setting = setting
    }

    /// The maximum allocations per action that a batch may add: 64 in 256 actions.
    static let perBatch = 0.25

    /// The allocations as a cell of the table, with the reason unless the row adds none.
    var allocationsAndReason: String {
        if reason == StageRow.noMore { return "\(Int(allocations))" }
        return "\(Int(allocations))\(reason.hasPrefix(StageRow.noMore) ? "," : ":") \(reason)"
    }

    /// The name of the row without stages.
    static let nothing = "no stage on"
}

extension StageRow {
    /// All rows, with bases before the rows compared with them.
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
        StageRow("one pass-through middleware", allocations: 3, onTheTask) { $0.middleware = [PassMiddleware()] },
        StageRow("four pass-through middleware", allocations: 3, onTheTask) {
            $0.middleware = [PassMiddleware(), PassMiddleware(), PassMiddleware(), PassMiddleware()]
        },
        StageRow("one plugin middleware", allocations: 3, onTheTask) {
            $0.options.middleware = [PassMiddleware()]
        },
        StageRow("metrics", allocations: 3, "no more: metrics are created once for each source and plugin") {
            $0.metrics = SupervisorMetrics(factory: PrometheusRegistry())
        },
        StageRow("tracing, no-op tracer", allocations: 3, "no more, for an action of 7 letters") {
            $0.middleware = [TracingMiddleware(tracer: NoOpTracer())]
        },
        StageRow("tracing, into memory", allocations: 39, "36 from the tracer: ids, attributes, the span") {
            let tracer = InMemoryTracer()
            $0.middleware = [TracingMiddleware(tracer: tracer)]
            $0.forget = { tracer.clearAll() }
        },
        StageRow("`onOutcome`", allocations: 3, noMore) { $0.configuration.onOutcome = { _ in } },
    ]

    private static let admission = [
        StageRow("deduplication, no duplicates", allocations: 3, "no more: the table is full and reuses its slots") {
            $0.deduplication = .within(DeduplicationLimits())
        },
        StageRow(
            "deduplication, every second one a duplicate",
            allocations: 2,
            "half of the calls, and a list of the duplicates that wait for each"
        ) {
            $0.deduplication = .within(DeduplicationLimits())
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
        StageRow("deduplication, deadline, rate limit, circuit breaker, retry and metrics", allocations: 3, noMore) {
            $0.deduplication = .within(DeduplicationLimits())
            $0.hasDeadline = true
            $0.rateLimit = RateLimit(perSecond: 10_000_000)
            $0.options.circuitBreaker = CircuitBreakerPolicy()
            $0.options.retry = RetryPolicy()
            $0.metrics = SupervisorMetrics(factory: PrometheusRegistry())
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
        alternating(two, of: 2, beside: nothing),
        alternating("100 registered, two called alternately", of: 100, beside: two),
        alternating("10,000 registered, two called alternately", of: 10_000, beside: two),
    ]

    private static let one = "1 action registered"
    private static let two = "2 registered, called alternately"
    private static let noMore = "no more"
    private static let onTheTask = "no more: its frame is in the task's memory"

    private static func keyed(_ name: String, keys: Int, atOnce: Int) -> StageRow {
        let reason = "the decoded body, stored with its call until the key is free"
        return StageRow(name, beside: "async handler", allocations: 4, reason) {
            $0.options.order = .key(\.paymentId)
            $0.options.maxConcurrent = atOnce
            $0.keys = keys
            $0.isAsync = true
        }
    }

    private static func alternating(_ name: String, of registered: Int, beside base: String) -> StageRow {
        let reason = "no more, and about 40 a batch, which is rebuilt for each plugin"
        return StageRow(name, beside: base, allocations: 3, reason, timeBar: base == nothing ? nil : 1.25) {
            $0.registered = registered
            $0.called = ["payment", "refunds"]
        }
    }
}

/// The supervisor's setup for one row; by default only the plugin.
struct StageSetting: Sendable {
    /// The number of registered actions, including those called.
    var registered = 31
    /// The actions to call, alternately.
    var called = ["payment"]
    var sources: [SourceName] = ["benchmark"]
    var features: AdapterFeatures = []
    var rateLimit: RateLimit?
    var deduplication = DeduplicationPolicy.never
    var options = PluginOptions<Payment>()
    var middleware: [any Middleware] = []
    var metrics: SupervisorMetrics?
    var configuration = SupervisorConfiguration()
    /// The number of different `paymentId` values in the messages.
    var keys = 1
    /// The number of consecutive messages with the same id and content.
    var messagesPerID = 1
    var hasDeadline = false
    /// Whether the handler is asynchronous; it never suspends.
    var isAsync = false
    /// Whether every message is handled. If false, none is.
    var isHandled = true
    /// Discards the spans collected during a dispatch.
    var forget: @Sendable () -> Void = {}
}
