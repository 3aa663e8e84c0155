import ArgumentParser
import Logging
import MQTTPush
import SignalboxCore

/// The command `signalbox publish URL`.
struct PublishCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publishes one message to a broker, or each line of stdin.",
        discussion: """
            The status is 0 if the broker accepted every message; at QoS 1 it acknowledges each. With --lines the last \
            line on stderr counts published and unpublished messages; empty lines are skipped.

            EXAMPLES
              signalbox publish mqtt://127.0.0.1:1883 --topic push/kiosk/loading \\
                --body '{"percent":50}'
              journalctl -f | signalbox publish mqtts://broker.example -t logs --lines \\
                --user me --password-file password.txt

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .unreadableFile, .unavailable, .timeout, .refused, .notSecured,
                .interrupted, .terminated,
            ], of: "publish"))
            """
    )

    @OptionGroup(title: "The broker")
    var broker: BrokerArguments

    @OptionGroup(title: "The message")
    var message: MessageArguments

    @Flag(name: [.customShort("l"), .customLong("lines")], help: "Publish each line of stdin as a separate message.")
    var lines = false

    @Flag(
        name: [.customShort("r"), .customLong("retain")],
        help: "Have the broker retain the message for later subscribers; an empty one deletes it."
    )
    var retain = false

    @Option(
        name: [.customShort("W"), .customLong("timeout")],
        help: "Give up after this time: \(TimeoutOption.form). Default for a single message: 30s.",
        transform: TimeoutOption.duration
    )
    var timeout: Duration?

    @Option(help: "Log level on stderr.")
    var logLevel = Logger.Level.warning

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func validate() throws {
        guard message.content.source == nil || !lines else {
            throw ValidationError("--lines reads the bodies from stdin; remove --body and --file")
        }
        guard message.content.source != nil || lines else {
            throw ValidationError("there is no body; add --body TEXT, --file FILE or --lines")
        }
        _ = try publisher()
    }

    func perform() async throws -> CommandStatus {
        broker.tls.warn()
        var message = message.message(retain: retain)
        guard let body = try await self.message.bytes() else { return try await publishLines(as: message) }
        message.payload = body
        let publisher = try MQTTPublisher(publisher(), logger: Logger(ofCommandAt: logLevel))
        let end = await publisher.run(timeout: timeout) { [message] () throws(MQTTPublishError) in
            try await publisher.publish(message)
        }
        let problem = "not published to \(message.topic.debugDescription)"
        // If the publisher fails later, a QoS 0 message may not have reached the broker.
        if let failure = end.failure {
            throw CommandFailure(CommandStatus(connection: failure), "\(problem): \(failure.commandText)")
        }
        try end.value(orFail: problem)
        return .done
    }

    private func publishLines(as message: MQTTMessage) async throws -> CommandStatus {
        let publisher = try MQTTPublisher(publisher(), logger: Logger(ofCommandAt: logLevel))
        let lines = PublishedLines(publisher: publisher, message: message)
        let end = await publisher.run(timeout: timeout) { () throws(MQTTPublishError) in await lines.run() }
        if let failure = end.failure { DiagnosticOutput.shared.report(failure.commandText) }
        var report = (try? end.result?.get()) ?? PublishReport(topic: message.topic)
        report.add(publisher.counts)
        for line in report.messages {
            DiagnosticOutput.shared.report(line, level: report.status == .done ? .info : .error)
        }
        return end.failure.map { CommandStatus(connection: $0) } ?? end.interruption ?? report.status
    }

    private func publisher() throws(ValidationError) -> MQTTPublisherConfiguration {
        try message.publisher(to: broker, timeout: timeout)
    }
}
