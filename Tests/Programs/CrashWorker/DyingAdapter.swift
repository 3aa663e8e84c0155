import Foundation
import MQTTPush
import SignalboxCore
import Synchronization

/// The shipped adapter, with settlements that pass through a sink that may kill the process.
struct DyingAdapter: Adapter {
    let adapter: MQTTPushAdapter
    let tally: Tally

    var source: SourceName { adapter.source }
    var features: AdapterFeatures { adapter.features }

    func run(into intake: any Intake) async throws {
        try await adapter.run(into: DyingIntake(intake: intake, tally: tally))
    }
}

/// Gives each batch its own sink.
struct DyingIntake: Intake {
    let intake: any Intake
    let tally: Tally

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        intake.submit(batch, to: DyingSink(sink, count: batch.count, tally))
    }

    func room() async throws(SourceClosed) {
        try await intake.room()
    }
}

/// Kills the process instead of forwarding the last settlement of a batch. The batch is then handled, and its last message
/// is not acknowledged.
final class DyingSink: SettlementSink {
    private let sink: any SettlementSink
    private let tally: Tally
    private let count: Int
    private let received = Mutex(Set<UInt64>())

    init(_ sink: any SettlementSink, count: Int, _ tally: Tally) {
        self.sink = sink
        self.count = count
        self.tally = tally
    }

    func mayAcknowledge(_ token: UInt64) {
        receive(token)
        sink.mayAcknowledge(token)
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        receive(token)
        sink.settle(token, outcome)
    }

    private func receive(_ token: UInt64) {
        let isLast = received.withLock { received in
            received.insert(token).inserted && received.count == count
        }
        if isLast && tally.diesAtFlush { Death.now() }
    }
}

/// Counts the messages that the plugin has started, to decide when the process dies.
final class Tally: Sendable {
    private let begun = Mutex(0)
    private let arguments: Arguments

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    /// - Returns: The number of this message, from 1.
    func begin() -> Int {
        begun.withLock { begun in
            begun += 1
            return begun
        }
    }

    /// Whether the process dies when the current batch is handled.
    var diesAtFlush: Bool {
        arguments.death == .flush && begun.withLock { $0 } >= arguments.deathAt
    }
}

enum Death {
    /// Ends the process as the system does when memory is short: no code runs afterwards, and nothing is flushed.
    static func now() -> Never {
        kill(getpid(), SIGKILL)
        // The signal may be delivered to another thread first; this thread must not continue.
        while true { pause() }
    }
}
