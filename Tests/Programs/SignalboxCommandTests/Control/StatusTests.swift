import Foundation
import Logging
import PrometheusMetrics
import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

@testable import SignalboxCommand

@Suite struct StatusTests {
    @Test func aStatusIsReadAsItWasWritten() throws {
        for status in [StatusExample.busy, StatusExample.idle] {
            let read = try JSONDecoder().decode(ProgramStatus.self, from: Data(status.line))
            #expect(read == status)
        }
    }

    @Test(
        arguments: [
            ([Int64](), 0.5, nil), ([0, 0], 0.5, nil),
            // All in the first bucket, which ends at 100 us.
            ([100], 0.5, 0.000_05), ([100], 1, 0.000_1),
            // Half in the first, half in the second bucket, which ends at 250 us.
            ([50, 50], 0.5, 0.000_1), ([50, 50], 0.75, 0.000_175), ([50, 50], 1, 0.000_25),
            ([0, 0, 10], 0.01, 0.000_275 - 0.000_022_5),
        ] as [([Int64], Double, Double?)]
    )
    func aQuantileIsWithinItsBucket(counts: [Int64], share: Double, expected: Double?) throws {
        let found = DurationCounts(counts).quantile(share)
        if let expected { #expect(abs(try #require(found) - expected) < 1e-9) } else { #expect(found == nil) }
    }

    @Test func theLongestDurationsHaveNoUpperBound() {
        var counts = [Int64](repeating: 0, count: PrometheusRegistry.bounds.count + 1)
        counts[counts.count - 1] = 3
        #expect(DurationCounts(counts).quantile(0.5) == PrometheusRegistry.bounds.last)
    }

    @Test func ratesAreAveragesOverTenSeconds() async throws {
        let time = Mutex(ContinuousClock.now)
        let count = Atomic<Int>(0)
        let owner = ActivityHistory.Owner.plugin("p")
        let history = ActivityHistory(
            now: { time.withLock { $0 } },
            counts: { _ in [owner: Activity(handled: count.load(ordering: .relaxed))] }
        )
        let supervisor = Supervisor(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        #expect(history.view(supervisor.report).rate(of: owner) == 0)
        for second in 1...100 {
            // 5 a second, and after 80 s nothing more.
            if second <= 80 { count.add(5, ordering: .relaxed) }
            time.withLock { $0 += .seconds(1) }
            history.add(supervisor.report)
            let view = history.view(supervisor.report)
            if second <= 80 { #expect(abs(view.rate(of: owner) - 5) < 0.001) }
            #expect(view.perSecond(of: owner).count == min(second, ActivityHistory.seconds))
        }
        let view = history.view(supervisor.report)
        #expect(view.rate(of: owner) == 0)
        #expect(view.perSecond(of: owner) == Array(repeating: 5, count: 40) + Array(repeating: 0, count: 20))
        #expect(view.current[owner] == Activity(handled: 400))
    }

    @Test func whatGoesWrongMostOftenIsWarnedOfFirst() async throws {
        let time = Mutex(ContinuousClock.now)
        let failed = Mutex<[ActivityHistory.Owner: Activity]>([
            .fault(source: "push", plugin: "a", code: "threw"): Activity(failed: 3),
            .fault(source: "push", plugin: "b", code: "overloaded"): Activity(rejected: 7),
            .plugin("a"): Activity(failed: 3),
        ])
        let history = ActivityHistory(now: { time.withLock { $0 } }, counts: { _ in failed.withLock { $0 } })
        let supervisor = Supervisor(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        func warnings() -> [ProgramStatus.Warning] {
            let view = history.view(supervisor.report)
            return StatusWarnings(sources: [], report: supervisor.report, plugins: [], view: view).list
        }
        #expect(
            warnings().map(\.text) == [
                "push/b: overloaded: 7 rejected in the last 10 s", "push/a: threw: 3 failed in the last 10 s",
            ]
        )
        for _ in 0..<20 {
            time.withLock { $0 += .seconds(1) }
            history.add(supervisor.report)
        }
        #expect(warnings().isEmpty)
        for number in 0..<50 {
            failed.withLock { $0[.fault(source: "push", plugin: "\(number)", code: "threw")] = Activity(failed: 1) }
        }
        #expect(warnings().count == StatusWarnings.limit)
    }

    @Test func theLevelOfALoggerAndItsCopiesChanges() {
        let threshold = LogThreshold(.info)
        var logger = Logger(threshold: threshold)
        let copy = logger
        #expect(logger.logLevel == .info)
        threshold.set(.trace)
        #expect(logger.logLevel == .trace && copy.logLevel == .trace)
        logger.logLevel = .error
        #expect(logger.logLevel == .error && copy.logLevel == .trace && threshold.level == .trace)
        for level in Logger.Level.allCases {
            threshold.set(level)
            #expect(threshold.level == level)
        }
    }
}

/// Statuses for tests.
enum StatusExample {
    static let busy = ProgramStatus(
        program: .init(
            version: "1.0",
            pid: 7,
            configuration: "signalbox.yaml",
            state: "running",
            startedAt: "2026-01-31T08:00:00.000Z",
            uptimeSeconds: 3_700,
            logLevel: "info",
            processorSeconds: 1.5,
            residentBytes: 104_000_000,
            openDescriptors: 20
        ),
        isReady: false,
        problems: [.init(source: "push", plugin: nil, problem: "cannot reach the broker")],
        warnings: [.init(source: "page", plugin: "slow", code: "threw", warning: "threw: 2 failed in the last 10 s")],
        sources: [
            source("push", "mqtt", isConnected: false, rate: 0, history: [0, 0, 0]),
            source("page", "chat", isConnected: true, rate: 1_234.4, history: [1, 5, 9]),
        ],
        plugins: [
            plugin("slow", rate: 2, p99: 2.5, failed: 3, waiting: 40, history: [1, 1, 1]),
            plugin("fast", rate: 1_200, p99: 0.000_25, failed: 1, waiting: 0, history: [9, 9, 0]),
            plugin("dead", rate: 0, p99: nil, failed: 9, waiting: 0, stalled: 1, history: [0, 0, 0]),
        ],
        deadLetters: .init(
            total: 13,
            dropped: 2,
            stored: 11,
            fullness: 0.25,
            last: [
                .init(
                    receivedAt: "2026-01-31T09:01:02.003Z",
                    source: "page",
                    action: "slow",
                    id: "x1",
                    outcome: "failed",
                    reason: "threw",
                    detail: "no \u{1B}[31m disk"
                )
            ]
        )
    )

    static let idle = ProgramStatus(
        program: .init(
            version: "1.0",
            pid: 1,
            configuration: "c.yaml",
            state: "starting",
            startedAt: "2026-01-31T08:00:00.000Z",
            uptimeSeconds: 0,
            logLevel: "warning",
            processorSeconds: 0,
            residentBytes: nil,
            openDescriptors: nil
        ),
        isReady: true,
        problems: [],
        warnings: [],
        sources: [],
        plugins: [],
        deadLetters: .init(total: 0, dropped: 0, stored: nil, fullness: nil, last: [])
    )

    static func source(
        _ name: String,
        _ kind: String,
        isConnected: Bool?,
        rate: Double,
        history: [Int]
    ) -> ProgramStatus.Source {
        .init(
            source: name,
            kind: kind,
            isConnected: isConnected,
            outcomes: .init(handled: 10, rejected: 1, failed: 2, abandoned: 0),
            duplicates: 0,
            rate: rate,
            unsettled: 4,
            unsettledLimit: 1_000,
            unsettledBytes: 512,
            history: history
        )
    }

    static func plugin(
        _ name: String,
        rate: Double,
        p99: Double?,
        failed: Int,
        waiting: Int,
        stalled: Int = 0,
        history: [Int]
    ) -> ProgramStatus.Plugin {
        .init(
            plugin: name,
            use: "log",
            outcomes: .init(handled: 10, rejected: 0, failed: failed, abandoned: 0),
            rate: rate,
            p50Seconds: p99.map { $0 / 2 },
            p99Seconds: p99,
            running: 1,
            waiting: waiting,
            stalled: stalled,
            isCircuitOpen: false,
            history: history
        )
    }
}
