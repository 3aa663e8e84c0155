import Foundation
import MQTTPush
import SignalboxCore
import Synchronization

/// The shipped adapter, with settlements that pass through a sink that may kill the process.
struct DyingAdapter: RestoringAdapter {
    let adapter: MQTTPushAdapter
    let tally: Tally

    var source: SourceName { adapter.source }
    var features: AdapterFeatures { adapter.features }

    func run(into intake: any Intake) async throws {
        try await adapter.run(into: DyingIntake(intake: intake, tally: tally))
    }

    func restore(_ messages: [StoredMessage], at now: WallTime) -> [Arrival] { adapter.restore(messages, at: now) }
}

/// Passes settlements through one sink, so that the supervisor still sees one sink for all messages.
final class DyingIntake: Intake {
    private let intake: any Intake
    private let tally: Tally
    private let sink = Mutex<DyingSink?>(nil)

    init(intake: any Intake, tally: Tally) {
        self.intake = intake
        self.tally = tally
    }

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        let dying = self.sink.withLock { known in
            if let known, known.sink === sink { return known }
            let new = DyingSink(sink, tally)
            known = new
            return new
        }
        return intake.submit(batch, to: dying)
    }

    func room() async throws(SourceClosed) {
        try await intake.room()
    }
}

/// Kills the process instead of forwarding a settlement. The message is then handled, or in the journal, and its
/// acknowledgement is never sent.
final class DyingSink: SettlementSink {
    let sink: any SettlementSink
    private let tally: Tally
    private let received = Mutex(Set<UInt64>())

    init(_ sink: any SettlementSink, _ tally: Tally) {
        self.sink = sink
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

    /// A message may be received twice: acknowledged first, and settled later.
    private func receive(_ token: UInt64) {
        let count = received.withLock { received in received.insert(token).inserted ? received.count : 0 }
        if tally.diesAtSettlement(count) { Death.now() }
        if tally.reportsTaken(count) { CrashWorker.report("taken \(count)") }
    }
}

/// Counts the messages that the plugin has started and handled, to decide when the process dies.
final class Tally: Sendable {
    private let begun = Mutex(0)
    private let written = Mutex(0)
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

    /// Whether the process dies instead of forwarding this settlement, of which the first has the number 1.
    func diesAtSettlement(_ number: Int) -> Bool {
        arguments.death == .settlement && number == arguments.deathAt
    }

    /// Whether the parent process waits for this number of settlements.
    func reportsTaken(_ number: Int) -> Bool { number > 0 && number == arguments.reportTaken }

    /// - Returns: The number of messages that were written to the log, this one included.
    func handled() -> Int {
        written.withLock { written in
            written += 1
            return written
        }
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
