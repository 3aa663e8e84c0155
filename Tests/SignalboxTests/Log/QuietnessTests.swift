import Logging
import SignalboxCore
import SignalboxTesting
import Testing

@testable import Signalbox

@Suite struct QuietnessTests {
    private static let count = 2_000

    private static func supervisor(_ lines: EventList<String>, _ level: Logger.Level, _ clock: ManualClock)
        -> Supervisor
    {
        var configuration = SupervisorConfiguration()
        configuration.timeout = .milliseconds(200)
        var log = RecordingLog(lines)
        log.logLevel = level
        let logger = Logger(label: "quiet") { [log] _ in log }
        return Supervisor(configuration: configuration, logger: logger, clock: clock)
    }

    @Test func tenThousandHandledActionsWriteNothingAtAnyLevel() async throws {
        let lines = EventList<String>()
        let supervisor = Self.supervisor(lines, .trace, ManualClock())
        supervisor.use(MetricsMiddleware())
        supervisor.use(TracingMiddleware())
        try supervisor.register("work", as: Empty.self, from: .source("push")) { _, _ in }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            for _ in 0..<20 { _ = await intake.deliver(arrivals([String](repeating: message("work"), count: 500))) }
            #expect(lines.all.isEmpty)
        }
        #expect(supervisor.report.total.handled == 10_000)
        #expect(lines.all.count == 1, "the drain, and no other: \(lines.all)")
    }

    /// Of all outcomes 2,000 in two seconds of the supervisor's timer: at most the budget of 50 lines for each second that
    /// was begun, the stall, dropped dead letters,
    /// the drain and what was withheld.
    @Test func elevenThousandActionsOfAllOutcomesStayWithinTheBudget() async throws {
        let lines = EventList<String>()
        let clock = ManualClock()
        let supervisor = Self.supervisor(lines, .info, clock)
        let gate = Gate()
        try register(in: supervisor, gate)
        let intake = try supervisor.intake(for: "push")
        var sent = 0
        try await supervisor.whileRunning {
            for text in [
                message("works"), message("throws"), message("nobody"), message("closed"), "{",
                message("works", body: "1"),
            ] {
                for _ in 0..<4 {
                    _ = await intake.deliver(arrivals([String](repeating: text, count: Self.count / 4)))
                    sent += Self.count / 4
                }
            }
            let late = arrivals(deadline: .now, [String](repeating: message("works"), count: 500))
            _ = await intake.deliver(late)
            let hanging = arrivals([String](repeating: message("hangs"), count: 500))
            _ = await clock.tick(until: { await intake.deliver(hanging) })
            sent += 1_000
        }
        let report = supervisor.report.total
        #expect(report.settled == sent && sent >= 10_000)
        #expect(
            report.handled == Self.count && report.failed == Self.count + 1
                && report.rejected == sent - report.handled - report.failed
        )
        let seconds = Int(supervisor.core.secondsRun) + 1
        #expect(lines.all.count <= 50 * seconds + 6, "\(lines.all.count) lines in \(seconds) seconds")
        #expect(lines.all.filter { $0.contains("dead letter: ") }.count >= 50)
        let told = lines.all.compactMap(Self.withheld).reduce(0, +)
        let written = lines.all.filter { $0.contains("dead letter: ") }.count
        let unavailable = 499
        #expect(told + written == report.rejected + report.failed - unavailable, "what has no line is told of")
        gate.open()
    }

    private func register(in supervisor: Supervisor, _ gate: Gate) throws {
        try supervisor.register("works", as: [String: Int].self, from: .source("push")) { _, _ in }
        try supervisor.register("throws", as: Empty.self, from: .source("push")) { _, _ in throw TestError() }
        try supervisor.register("closed", as: Empty.self, from: .source("chat")) { _, _ in }
        try supervisor.register("hangs", as: Empty.self, from: .source("push")) { _, _ in await gate.pass() }
    }

    private static func withheld(_ line: String) -> Int? {
        line.split(separator: " ").compactMap { part in
            part.hasPrefix("linesWithheldBefore=") ? Int(part.dropFirst("linesWithheldBefore=".count)) : nil
        }.first
    }
}
