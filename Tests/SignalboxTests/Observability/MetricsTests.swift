import Metrics
import MetricsTestKit
import SignalboxCore
import SignalboxTesting
import Synchronization
import TestSupport
import Testing

@testable import Signalbox

@Suite struct MetricsTests {
    private let metrics = TestMetrics()

    @Test func everyOutcomeIsCountedWithItsSourcePluginAndCode() async throws {
        let supervisor = try makeSupervisor()
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            _ = await intake.deliver(
                arrivals([
                    message("works"), message("works"), message("throws"), message("nobody"), "{", message("closed"),
                    message("works", body: "1"),
                ])
            )
        }
        #expect(count("works", "handled", "handled") == 2)
        #expect(count("works", "rejected", "invalidBody") == 1)
        #expect(count("throws", "failed", "threw") == 1)
        #expect(count("none", "rejected", "unknownAction") == 1)
        #expect(count("none", "rejected", "malformed") == 1)
        #expect(count("closed", "rejected", "sourceNotAllowed") == 1)
        #expect(metrics.counterTotal(label: "signalbox_outcomes_total") == 7)
        #expect(try metrics.expectCounter("signalbox_dead_letters_total", [("source", "push")]).totalValue == 5)
    }

    @Test func aSentNameIsNeverALabel() async throws {
        let supervisor = try makeSupervisor()
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            _ = await intake.deliver(arrivals((0..<500).map { message("invented\($0)") }))
        }
        #expect(count("none", "rejected", "unknownAction") == 500)
        #expect(metrics.counters.count < 12)
        #expect(!metrics.counters.contains { $0.dimensions.contains { $0.1.hasPrefix("invented") } })
    }

    @Test func eachCallIsTimed() async throws {
        let supervisor = try makeSupervisor()
        let intake = try supervisor.intake(for: "push")
        let batch = arrivals([message("works"), message("throws"), message("works"), message("nobody")])
        try await supervisor.whileRunning { _ = await intake.deliver(batch) }
        #expect(try times("works").count == 2)
        #expect(try times("throws").count == 1)
        #expect(metrics.timers.map(\.values.count).reduce(0, +) == 3)
        #expect(try times("works").allSatisfy { $0 >= 0 })
    }

    /// A call of a batch plugin handles many actions, and is one call.
    @Test func theCallOfABatchPluginIsTimedOnce() async throws {
        let supervisor = try makeSupervisor()
        try supervisor.register(Registration(Together(), from: .source("push")))
        let intake = try supervisor.intake(for: "push")
        let batch = arrivals([message("together"), message("together"), message("together")])
        try await supervisor.whileRunning { _ = await intake.deliver(batch) }
        #expect(try times("together").count == 1)
        #expect(count("together", "handled", "handled") == 3)
    }

    /// Metrics are not middleware, so the thread that submits still makes the calls.
    @Test func aPluginThatRunsInlineIsMeasuredInline() async throws {
        let supervisor = try makeSupervisor()
        let calls = CallPlaces()
        try supervisor.register(
            Registration("inline", as: Int.self, from: .source("push"), options: PluginOptions(runsInline: true)) {
                number,
                _ in calls.add(number)
            }
        )
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals([message("inline", body: "1")])) }
        #expect(calls.inline == [1])
        #expect(try times("inline").count == 1)
        #expect(count("inline", "handled", "handled") == 1)
    }

    /// The time of a call includes its middleware.
    @Test func middlewareThatAnswersIsTimed() async throws {
        let supervisor = try makeSupervisor()
        supervisor.use(Answering())
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals([message("works")])) }
        #expect(try times("works").count == 1)
        #expect(count("works", "rejected", "unavailable") == 1)
    }

    @Test func attemptsDuplicatesAndDeadLettersAreCounted() throws {
        let meter = meter("works")
        let failed = Outcome.failed(Outcome.Failure(.threw, detail: "no"))
        meter.count(.handled(reply: nil), attempts: 3)
        meter.count(failed, attempts: 2)
        meter.count(.abandoned(.drain), attempts: 0)
        meter.countDuplicate(.handled(reply: nil))
        meter.countDuplicate(failed)
        let labels = [("source", "push"), ("plugin", "works")]
        #expect(try metrics.expectCounter("signalbox_attempts_total", labels).totalValue == 5)
        #expect(try metrics.expectCounter("signalbox_duplicates_total", [("source", "push")]).totalValue == 2)
        #expect(try metrics.expectCounter("signalbox_dead_letters_total", [("source", "push")]).totalValue == 1)
        #expect(count("works", "abandoned", "drain") == 1)
    }

    @Test func retriesCountAsAttemptsAndDuplicatesDoNot() async throws {
        let clock = ManualClock()
        let supervisor = try makeSupervisor(clock: clock)
        let options = PluginOptions<Empty>(retry: RetryPolicy(attempts: 3))
        try supervisor.register(
            Registration("flaky", as: Empty.self, from: .source("push"), options: options) { _, context in
                if context.attempt < 3 { throw RetryTests.Refused() }
            }
        )
        let intake = try supervisor.intake(for: "push", deduplication: .within(DeduplicationLimits()))
        try await supervisor.whileRunning {
            for _ in 0..<2 {
                _ = await clock.tick {
                    await intake.deliver(arrivals([message("flaky", id: "same"), message("nobody")]))
                }
            }
        }
        #expect(count("flaky", "handled", "handled") == 2)
        let flaky = [("source", "push"), ("plugin", "flaky")]
        #expect(try metrics.expectCounter("signalbox_attempts_total", flaky).totalValue == 3)
        #expect(try metrics.expectTimer("signalbox_call_duration_seconds", flaky).values.count == 3)
        #expect(try metrics.expectCounter("signalbox_duplicates_total", [("source", "push")]).totalValue == 1)
        let none = [("source", "push"), ("plugin", "none")]
        #expect(metrics.counterTotal(label: "signalbox_attempts_total", dimensions: none) == 0)
    }

    @Test func aReportSetsMetersAndAddsToCounters() throws {
        let observed = SupervisorMetrics(factory: metrics)
        observed.reported(
            report(late: 2, unreadable: 1, arrivals: 7, bytes: 700, running: ["push/slow"], dropped: 3)
        )
        observed.reported(report(late: 5, unreadable: 5, arrivals: 0, bytes: 0, running: [], dropped: 3))
        let source = [("source", "push")]
        #expect(try metrics.expectMeter("signalbox_window_arrivals", source).values == [7, 0])
        #expect(try metrics.expectMeter("signalbox_window_bytes", source).values == [700, 0])
        #expect(try metrics.expectMeter("signalbox_calls_stalled").values == [1, 0])
        #expect(try metrics.expectCounter("signalbox_late_returns_total", source).values == [2, 3])
        #expect(try metrics.expectCounter("signalbox_unreadable_items_total", source).values == [1, 4])
        #expect(try metrics.expectCounter("signalbox_dead_letters_dropped_total").values == [3])
    }

    @Test func aStoreHasMetersAndAProgramWithoutStoreHasNone() throws {
        let observed = SupervisorMetrics(factory: metrics)
        observed.reported(report(late: 0, arrivals: nil, bytes: 0, running: [], dropped: 0))
        #expect(throws: (any Error).self) { try metrics.expectMeter("signalbox_dead_letters_stored") }
        for (count, problem) in [(80, nil), (40, "no space"), (40, nil)] {
            let use = DeadLetterUse(count: count, bytes: 1, fullness: Double(count) / 100)
            observed.reported(
                report(late: 0, arrivals: nil, bytes: 0, running: [], dropped: 0, stored: use, problem: problem)
            )
        }
        #expect(try metrics.expectMeter("signalbox_dead_letters_stored").values == [80, 40, 40])
        #expect(try metrics.expectMeter("signalbox_dead_letters_fullness_ratio").values == [0.8, 0.4, 0.4])
        #expect(try metrics.expectMeter("signalbox_store_writable").values == [1, 0, 1])
    }

    @Test func theMetersOfARemovedSourceFallToZero() throws {
        let observed = SupervisorMetrics(factory: metrics)
        observed.reported(report(late: 0, arrivals: 7, bytes: 700, running: [], dropped: 0))
        observed.reported(report(late: 0, arrivals: nil, bytes: 0, running: [], dropped: 0))
        let source = [("source", "push")]
        #expect(try metrics.expectMeter("signalbox_window_arrivals", source).values == [7, 0])
        #expect(try metrics.expectMeter("signalbox_window_bytes", source).values == [700, 0])
    }

    @Test func theSupervisorReportsOncePerSecondAndAtItsEnd() async throws {
        let clock = ManualClock()
        let supervisor = try makeSupervisor(clock: clock) { $0.tick = .milliseconds(250) }
        _ = try supervisor.intake(for: "push")
        let seen = EventList<Int>()
        supervisor.observe(ReportCounter(seen: seen))
        try await supervisor.whileRunning {
            await clock.tick(8, every: .milliseconds(250))
            #expect(seen.all.count == 2)
        }
        #expect(seen.all.count == 3)
        #expect(try metrics.expectMeter("signalbox_window_arrivals", [("source", "push")]).values == [0, 0, 0])
    }

    @Test func metricsAreCreatedOnce() throws {
        let factory = CountingFactory(metrics)
        let observed = SupervisorMetrics(factory: factory, seriesLimit: 100)
        let rejected = Outcome.rejected(Outcome.Rejection(.unknownAction, detail: ""))
        for outcome in [Outcome.handled(reply: nil), rejected] {
            CallMeter([observed], "push", "works").count(outcome, attempts: 1)
        }
        let made = factory.made
        for _ in 0..<1_000 {
            CallMeter([observed], "push", "works").count(.handled(reply: nil), attempts: 1)
            CallMeter([observed], "push", "works").count(rejected, attempts: 1)
        }
        #expect(factory.made == made)
        #expect(made < 20)
    }

    @Test func seriesBeyondTheLimitAreCountedTogether() throws {
        let observed = SupervisorMetrics(factory: metrics, seriesLimit: 3)
        let failed = Outcome.failed(Outcome.Failure(.threw, detail: "no"))
        for number in 0..<10 {
            let plugin = try ActionName("plugin\(number)")
            CallMeter([observed], "push", plugin).count(.handled(reply: nil), attempts: 1)
            CallMeter([observed], "push", plugin).count(failed, attempts: 1)
        }
        let labels = [("source", "other"), ("plugin", "other"), ("outcome", "handled"), ("code", "handled")]
        #expect(try metrics.expectCounter("signalbox_outcomes_total", labels).totalValue == 7)
        #expect(metrics.counterTotal(label: "signalbox_outcomes_total") == 20)
        #expect(try metrics.expectCounter("signalbox_dead_letters_total", [("source", "push")]).totalValue == 10)
    }

    @Test func everyMetricNameFollowsTheConvention() {
        for name in MetricName.allCases {
            #expect(name.rawValue.allSatisfy { $0 == "_" || ("a"..."z").contains($0) })
            #expect(name.rawValue.hasPrefix("signalbox_"))
            #expect(name.rawValue.hasSuffix("_total") == (name.kind == .counter))
            if name.kind == .timer { #expect(name.rawValue.hasSuffix("_seconds")) }
            #expect(!name.unit.isEmpty && !name.meaning.isEmpty)
        }
    }
}

extension MetricsTests {
    private func makeSupervisor(
        clock: any Clock<Duration> = ContinuousClock(),
        _ configure: (inout SupervisorConfiguration) -> Void = { _ in }
    ) throws -> Supervisor {
        let supervisor = Supervisor.make(clock: clock, configure)
        supervisor.observe(SupervisorMetrics(factory: metrics))
        try supervisor.register(Registration("works", as: [String: Int].self, from: .source("push")) { _, _ in })
        try supervisor.register(Registration("closed", as: Empty.self, from: .source("chat")) { _, _ in })
        try supervisor.register(
            Registration("throws", as: Empty.self, from: .source("push")) { _, _ in throw TestError() }
        )
        return supervisor
    }

    private func meter(_ plugin: ActionName) -> CallMeter {
        CallMeter([SupervisorMetrics(factory: metrics)], "push", plugin)
    }

    /// The durations of a plugin's calls, in nanoseconds.
    private func times(_ plugin: String) throws -> [Int64] {
        try metrics.expectTimer("signalbox_call_duration_seconds", [("source", "push"), ("plugin", plugin)]).values
    }

    private func count(_ plugin: String, _ outcome: String, _ code: String) -> Int64 {
        let labels = [("source", "push"), ("plugin", plugin), ("outcome", outcome), ("code", code)]
        return metrics.counterTotal(label: "signalbox_outcomes_total", dimensions: labels)
    }

    /// - Parameter arrivals: The unsettled arrivals, or `nil` after the source was removed.
    private func report(
        late: Int,
        unreadable: Int = 0,
        arrivals: Int?,
        bytes: Int,
        running: [String],
        dropped: Int,
        stored: DeadLetterUse? = nil,
        problem: String? = nil
    ) -> SupervisorReport {
        let counts = OutcomeCounts(lateReturns: late, unreadableItems: unreadable)
        return SupervisorReport(
            total: counts,
            sources: ["push": counts],
            windows: arrivals.map { ["push": WindowUse(arrivals: $0, bytes: bytes)] } ?? [:],
            unsettled: arrivals ?? 0,
            callsStillRunning: running,
            deadLetters: dropped,
            deadLettersDropped: dropped,
            storedDeadLetters: stored,
            storeProblem: problem,
            isStoreWritable: stored.map { _ in problem == nil }
        )
    }
}

/// A plugin whose calls handle whole batches.
private struct Together: BatchPlugin {
    let action: ActionName = "together"

    func callAsActions(_ batch: [(info: Empty, context: ActionContext)]) async throws {}
}

/// A middleware that answers in place of the plugin.
private struct Answering: Middleware {
    func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome {
        .rejected(Outcome.Rejection(.unavailable, detail: "closed"))
    }
}

/// A metrics factory that counts the metrics it creates.
final class CountingFactory: MetricsFactory {
    private let inner: any MetricsFactory
    private let count = Atomic<Int>(0)

    init(_ inner: any MetricsFactory) { self.inner = inner }

    var made: Int { count.load(ordering: .relaxed) }

    private func counted() -> any MetricsFactory {
        count.wrappingAdd(1, ordering: .relaxed)
        return inner
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        counted().makeCounter(label: label, dimensions: dimensions)
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        counted().makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        counted().makeMeter(label: label, dimensions: dimensions)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        counted().makeTimer(label: label, dimensions: dimensions)
    }

    func destroyCounter(_ handler: any CounterHandler) { inner.destroyCounter(handler) }
    func destroyRecorder(_ handler: any RecorderHandler) { inner.destroyRecorder(handler) }
    func destroyMeter(_ handler: any MeterHandler) { inner.destroyMeter(handler) }
    func destroyTimer(_ handler: any TimerHandler) { inner.destroyTimer(handler) }
}

/// An observer that records the unsettled arrivals of each report.
struct ReportCounter: OutcomeObserver, ReportObserver {
    let seen: EventList<Int>

    func settled(_ arrival: SettledArrival) {}

    func reported(_ report: SupervisorReport) { seen.append(contentsOf: [report.unsettled]) }
}
