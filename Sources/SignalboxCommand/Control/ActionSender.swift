import Logging
import SignalboxCore

/// Dispatches actions that commands and the console send. They come from the source `internal`.
struct ActionSender: Sendable {
    let messages: ProgramMessages
    /// Returns the limits in use, which a reload changes.
    let limits: @Sendable () -> MessageLimits
    let logger: Logger

    /// Dispatches an action, and returns its outcome as a line.
    ///
    /// - Throws: ``ControlRefusal`` if the body is not JSON or too large, or the program is starting or ending.
    func send(_ action: ActionName, _ id: ActionID?, _ body: Bytes) async throws(ControlRefusal) -> [UInt8] {
        let arrival: Arrival
        do throws(CommandFailure) {
            arrival = try Arrival.sent(action, id: id, body: Array(body), limits: limits())
        } catch {
            throw ControlRefusal(.invalidBody, "\(error)")
        }
        guard let outcome = await messages.deliver(arrival) else {
            throw ControlRefusal(.ending, "the program is starting or ending")
        }
        logger.debug(
            "an action was sent from outside",
            metadata: ["action": "\(action)", "outcome": "\(outcome.name)"]
        )
        return OutcomeLine.recordLine(of: arrival, outcome)
    }
}
