import AdapterSupport
import ArgumentParser
import Logging
import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// The command `signalbox publish URL`.
struct PublishCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publishes one message to a broker, or each line of stdin.",
        discussion: """
            The status is 0 if the broker accepted every message; at QoS 1 it acknowledges each. With --lines and \
            --repeat the last line on stderr counts published and unpublished messages, and on a terminal a line shows \
            the progress. Empty lines are skipped.

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

    @Option(help: ArgumentHelp("The topic on which a reply is expected (MQTT 5).", valueName: "topic"))
    var responseTopic: String?

    @Option(help: ArgumentHelp("The data to repeat in a reply (MQTT 5).", valueName: "text"))
    var correlationData: String?

    @Flag(name: [.customShort("l"), .customLong("lines")], help: "Publish each line of stdin as a separate message.")
    var lines = false

    @Option(
        name: [.customLong("repeat")],
        help: ArgumentHelp("Publish the message this many times, 1 to 1000000.", valueName: "n")
    )
    var repetitions: Int?

    @Option(
        help: "Wait at least this time between messages, with --repeat or --lines: \(TimeoutOption.form).",
        transform: TimeoutOption.duration
    )
    var interval: Duration?

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
        if let repetitions {
            guard !lines else { throw ValidationError("--lines publishes each line once; remove --repeat") }
            guard (1...RepeatedMessage.limit).contains(repetitions) else {
                throw ValidationError("--repeat must be 1 to \(RepeatedMessage.limit)")
            }
        }
        guard interval == nil || repetitions != nil || lines else {
            throw ValidationError("--interval is the time between messages; add --repeat or --lines")
        }
        guard lines || repetitions != nil || (timeout ?? .zero) <= .seconds(3_600) else {
            throw ValidationError("--timeout must be at most 1h for a single message")
        }
        guard broker.version == .v5 || responseTopic == nil && correlationData == nil else {
            throw ValidationError("--response-topic and --correlation-data require MQTT 5; remove --v311")
        }
        if let responseTopic {
            try ValidationError.checkTopic("--response-topic", responseTopic)
            _ = try ValidationError.checked("--response-topic") { try TopicName(responseTopic) }
        }
        guard (interval ?? .zero) <= .seconds(86_400) else { throw ValidationError("--interval must be at most 1d") }
        _ = try publisher()
    }

    func perform() async throws -> CommandStatus {
        try broker.checkFiles()
        var message = message.message(retain: retain)
        message.responseTopic = responseTopic
        message.correlation = correlationData.map { Array($0.utf8) }
        guard let body = try await self.message.bytes() else { return try await publishLines(as: message) }
        message.payload = body
        if let repetitions { return try await publish(message, times: repetitions) }
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
        let meter = PublishMeter(total: .standardInput)
        let lines = PublishedLines(publisher: publisher, message: message, interval: interval, meter: meter)
        let report = PublishReport(topic: message.topic)
        let progress = ProgressLine(isShown: isatty(STDIN_FILENO) == 0)
        return await run(publisher, meter, progress, reportingAs: report) { await lines.run() }
    }

    private func publish(_ message: MQTTMessage, times: Int) async throws -> CommandStatus {
        let publisher = try MQTTPublisher(publisher(), logger: Logger(ofCommandAt: logLevel))
        let work = RepeatedMessage(publisher: publisher, message: message, count: times, interval: interval)
        let report = PublishReport(topic: message.topic, missing: work.missing)
        let meter = PublishMeter(total: .messages(times))
        return await run(publisher, meter, ProgressLine(), reportingAs: report) { await work.run() }
    }

    /// Publishes many messages, and reports their counts.
    ///
    /// - Parameter empty: The report if the work does not return one.
    private func run(
        _ publisher: MQTTPublisher,
        _ meter: PublishMeter,
        _ progress: ProgressLine,
        reportingAs empty: PublishReport,
        _ work: @escaping @Sendable () async -> PublishReport
    ) async -> CommandStatus {
        let end = await progress.during({ meter.text(publisher.counts) }) {
            await publisher.run(timeout: timeout) { () throws(MQTTPublishError) in await work() }
        }
        if let failure = end.failure { DiagnosticOutput.shared.report(failure.commandText) }
        var report = (try? end.result?.get()) ?? empty
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
