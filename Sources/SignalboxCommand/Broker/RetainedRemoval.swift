import Logging
import MQTTPush
import SignalboxCore
import Synchronization

/// Deletes retained messages at the broker, each through an empty retained message (MQTT 5.0, 3.3.1.3).
///
/// A second client publishes. MQTT cannot delete a message only if it is unchanged, so a message that another client
/// retained on the topic in the meantime is deleted, too.
final class RetainedRemoval: Sendable {
    private struct State {
        /// The number of shown messages that were to be deleted. One that overlapping topics deliver twice counts twice.
        var requested = 0
        var removed = 0
        /// Whether the publisher has ended, so that it would not send anything.
        var hasEnded = false
        /// The first reason why a message was not deleted.
        var failure: (status: CommandStatus, text: String)?
    }

    private let publisher: MQTTPublisher
    private let state = Mutex(State())

    /// - Parameter configuration: The configuration of a publisher with the same login as the subscription.
    init(_ configuration: MQTTPublisherConfiguration, logger: Logger) throws(MQTTPushError) {
        var configuration = configuration
        // The broker would disconnect the subscription if both had one id, and publish its will twice.
        configuration.clientID = .random()
        configuration.will = nil
        publisher = try MQTTPublisher(configuration, logger: logger)
    }

    /// Deletes the message that the broker retains for the topic. Returns when the broker has confirmed that, or refused.
    func remove(_ topic: String) async {
        let hasEnded = state.withLock { state in
            state.requested += 1
            return state.hasEnded
        }
        guard !hasEnded else { return }
        do throws(MQTTPublishError) {
            try await publisher.publish(MQTTMessage([], to: topic, qos: .atLeastOnce, retain: true))
            state.withLock { $0.removed += 1 }
        } catch {
            state.withLock { state in
                state.failure = state.failure ?? (CommandStatus(error), error.commandText)
            }
        }
    }

    /// Runs the publisher while `work` runs.
    func during<Result: Sendable>(_ work: @escaping @Sendable () async throws -> Result) async throws -> Result {
        // Leaving the scope cancels the publisher and waits for its end.
        async let _ = run()
        return try await work()
    }

    private func run() async {
        do {
            try await publisher.run()
        } catch {
            let failure = (CommandStatus(connection: error), error.commandText)
            state.withLock { state in
                state.failure = state.failure ?? failure
                state.hasEnded = true
            }
        }
    }

    /// Reports the numbers on stderr.
    ///
    /// - Returns: The exit status of the command, if the rest has succeeded.
    func report() -> CommandStatus {
        let state = state.withLock { $0 }
        DiagnosticOutput.shared.report("retained messages deleted: \(state.removed)", level: .info)
        let left = state.requested - state.removed
        guard left > 0 else { return .done }
        let failure = state.failure ?? (.notAsExpected, "the command ended first")
        DiagnosticOutput.shared.report("retained messages not deleted: \(left): \(failure.text)")
        return failure.status
    }
}
