public import ArgumentParser
public import MQTTPush
import SignalboxCore

/// The options for the messages that a broker retains.
struct RetainedArguments: ParsableArguments {
    /// How long the broker must send no retained message by default.
    private static let defaultWait: Duration = .seconds(1)

    @Option(help: "How to treat retained messages.")
    var retained = MQTTRetained.deliver

    @Flag(help: "Show only retained messages, and end with status 0 when no more of them arrive.")
    var retainedOnly = false

    @Option(
        help: ArgumentHelp(
            "With --retained-only, end when no retained message has arrived for this time; default 1s.",
            valueName: "time"
        ),
        transform: TimeoutOption.duration
    )
    var retainedWait: Duration?

    @Flag(help: "Delete each retained message at the broker once it is shown.")
    var removeRetained = false

    /// - Throws: `ValidationError` if two options conflict.
    func check(isShared: Bool, keepsSession: Bool) throws(ValidationError) {
        guard retainedWait == nil || retainedOnly else {
            throw ValidationError("--retained-wait has no effect without --retained-only; add it")
        }
        guard let option = retainedOnly ? "--retained-only" : removeRetained ? "--remove-retained" : nil else { return }
        guard retained != .ignore else {
            throw ValidationError(
                "with --retained ignore the broker sends no retained messages; remove it or \(option)"
            )
        }
        guard !isShared else {
            throw ValidationError("a shared subscription gets no retained messages; remove the group or \(option)")
        }
        guard !keepsSession || !retainedOnly else {
            throw ValidationError("--retained-only would drop the session's other messages; remove --keep-session")
        }
    }

    /// The period whose end also ends the command, or `nil` if retained messages do not end it.
    var quietPeriod: QuietPeriod? {
        retainedOnly ? QuietPeriod(retainedWait ?? RetainedArguments.defaultWait) : nil
    }
}

extension MQTTRetained: ExpressibleByArgument {}
