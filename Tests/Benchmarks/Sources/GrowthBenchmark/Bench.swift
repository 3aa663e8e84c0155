import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization

/// A running supervisor whose timer stands still until a row advances it.
struct Bench {
    let clock = ManualClock()
    let supervisor: Supervisor
    private let running: Task<Void, any Error>
    private let pool = ArrivalPool(maximumKept: 16)

    init(_ configure: (inout SupervisorConfiguration) -> Void = { _ in }) async {
        var configuration = SupervisorConfiguration()
        configure(&configuration)
        let logger = Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
        let supervisor = Supervisor(configuration: configuration, logger: logger, clock: clock)
        self.supervisor = supervisor
        running = Task { try await supervisor.run() }
        await clock.untilAsleep()
    }

    func stop() async {
        running.cancel()
        _ = try? await running.value
    }

    /// Returns the processor time of a tick of the timer.
    func timeOfTick() async -> Double {
        await clock.tick(10)
        return await Meter.time(of: 100) { await clock.tick(100) }
    }

    /// Submits a batch, and waits for room until all of it has been taken.
    func submit(_ message: [UInt8], times: Int = 1, to intake: any Intake, _ origin: Origin, _ sink: CountingSink)
        async throws
    {
        var batch = ArrivalBatch(pool: pool)
        message.withUnsafeBytes { bytes in
            for number in 0..<times {
                batch.append(bytes, token: UInt64(number), origin: origin, receivedAt: WallTime(seconds: 1_700_000_000))
            }
        }
        let arrivals = batch.take()
        var taken = intake.submit(arrivals, to: sink)
        while taken < arrivals.count {
            try await intake.room()
            taken += intake.submit(Array(arrivals[taken...]), to: sink)
        }
    }
}

/// A source of a row.
struct Feed {
    let intake: any Intake
    let origin: Origin

    init(_ name: String, _ bench: Bench, features: AdapterFeatures = [], window: WindowLimits = WindowLimits()) throws {
        let source = try SourceName(name)
        intake = try bench.supervisor.intake(for: source, features: features, window: window)
        origin = Origin(source: source, facts: BenchmarkFacts())
    }
}

struct BenchmarkFacts: OriginFacts {
    static let kind = "benchmark"
}

/// The body of every message: the number of a key.
struct Numbered: Decodable, Sendable {
    let number: Int

    static func message(_ action: String, _ number: Int = 0) -> [UInt8] {
        Array(#"{"action":"\#(action)","body":{"number":\#(number)}}"#.utf8)
    }
}

extension AccessRule {
    static let anything = AccessRule("anything") { _ in true }
}

/// Counts settlements, and tells when all messages are settled.
final class CountingSink: SettlementSink {
    private let left: Atomic<Int>
    private let done: AsyncStream<Never>
    private let finish: AsyncStream<Never>.Continuation

    init(expected: Int) {
        left = Atomic(expected)
        (done, finish) = AsyncStream.makeStream(of: Never.self)
    }

    func mayAcknowledge(_ token: UInt64) {}

    func settle(_ token: UInt64, _ outcome: Outcome) {
        if left.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 { finish.finish() }
    }

    func untilSettled() async {
        for await _ in done {}
    }
}
