import BrokerKit
import Foundation
import Synchronization
import Testing

/// Publishes numbered messages to `push/ledger/log` all the time, in their order, with QoS 1.
final class NumberPublisher: Sendable {
    private let trial: ReloadTrial
    private let isDone = Atomic(false)
    private static let atOnce = 400

    init(_ trial: ReloadTrial) {
        self.trial = trial
    }

    /// Publishes until ``stop()``, or until the task is cancelled, as by a test that has failed.
    ///
    /// - Returns: how many the broker has acknowledged: those from 1 on.
    func run() async throws -> Int {
        var next = 1
        while !isDone.load(ordering: .relaxed), !Task.isCancelled {
            let program = try RunningProgram(
                BuiltProgram.path("LedgerPublisher"),
                [
                    "--port", "\(trial.broker.port)", "--topic", "push/ledger/log", "--in-flight", "20",
                    "--payload", #"{"number":"{n}"}"#, "--first", "\(next)", "--count", "\(NumberPublisher.atOnce)",
                    "--ledger", trial.folder.appendingPathComponent("sent-\(next).txt").path,
                ]
            )
            try #require(await program.status() == 0)
            next += NumberPublisher.atOnce
        }
        return next - 1
    }

    func stop() {
        isDone.store(true, ordering: .relaxed)
    }
}
