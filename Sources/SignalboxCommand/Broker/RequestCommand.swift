import AdapterSupport
import ArgumentParser
import Logging
import MQTTPush
import SignalboxCore

/// The command `signalbox request URL`.
struct RequestCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "request",
        abstract: "Publishes a request to a broker and shows the reply.",
        discussion: """
            The request has its own Response Topic and Correlation Data (MQTT 5). The reply is one JSON object: payload, \
            payloadKind ("json": payload is the JSON value, "text": a string, "binary": Base64), and outcome and contentType if the reply has them. \
            The status is 0 if the reply's outcome is 'handled' or absent.

            EXAMPLE
              signalbox request mqtt://127.0.0.1:1883 --topic push/kiosk/loading \\
                --body '{}' --timeout 5s

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .unreadableFile, .unavailable, .outputFailed, .timeout, .refused,
                .notSecured, .interrupted, .terminated,
            ], of: "request"))
            """
    )

    /// How much longer than the reply timeout the command may run. This gives the request time to report a missing
    /// reply itself.
    private static let margin: Duration = .seconds(5)

    @OptionGroup(title: "The broker")
    var broker: BrokerArguments

    @OptionGroup(title: "The message")
    var message: MessageArguments

    @Option(
        name: [.customShort("W"), .customLong("timeout")],
        help: "Wait at most this time for the reply: \(TimeoutOption.form); default 30s.",
        transform: TimeoutOption.duration
    )
    var timeout: Duration?

    @OptionGroup(title: "Output")
    var output: OutputArguments

    @Option(help: "Log level on stderr.")
    var logLevel = Logger.Level.warning

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    private var wait: Duration { timeout ?? .seconds(30) }

    func validate() throws {
        guard message.content.source != nil else {
            throw ValidationError("there is no body; add --body TEXT or --file FILE")
        }
        guard !output.verbose else {
            throw ValidationError("--verbose shows topics, and the topic of a reply is random; use --raw")
        }
        guard !broker.v311 else { throw ValidationError("MQTT 3.1.1 has no response topics; remove --v311") }
        guard wait <= .seconds(86_400) else { throw ValidationError("--timeout must be at most 1d") }
        _ = try publisher()
    }

    func perform() async throws -> CommandStatus {
        try broker.checkFiles()
        let stdout = StandardOutput()
        var message = message.message()
        message.payload = try await self.message.bytes() ?? []
        let publisher = try MQTTPublisher(publisher(), logger: Logger(ofCommandAt: logLevel))
        let end = await publisher.run(timeout: wait + RequestCommand.margin) {
            [message, wait] () throws(MQTTPublishError) in
            try await publisher.request(message, timeout: wait)
        }
        let reply = try end.value(orFail: "no reply from \(message.topic.debugDescription)")
        do throws(PayloadNotJSON) {
            stdout.offer(try line(for: reply, isTerminal: stdout.isTerminal))
        } catch {
            throw CommandFailure(.notAsExpected, "the reply is not shown: \(error)")
        }
        if let lost = await stdout.finish(), lost != .closed { throw lost }
        return reply.outcome.map { $0 == "handled" } ?? true ? .done : .notAsExpected
    }

    private func publisher() throws(ValidationError) -> MQTTPublisherConfiguration {
        try message.publisher(to: broker, timeout: wait)
    }

    /// Returns the output for the reply.
    private func line(for reply: MQTTReply, isTerminal: Bool) throws(PayloadNotJSON) -> [UInt8] {
        let payload = RawBody(recognizing: Bytes(reply.payload))
        var message = TemplateMessage(payload, receivedAt: .now())
        (message.contentType, message.userProperties) = (reply.contentType, reply.userProperties)
        if let bytes = try output.form.bytes(for: message, isTerminal: isTerminal) { return bytes }
        if isTerminal {
            let outcome =
                reply.outcome.map {
                    [TerminalText.column($0, width: 8, color: $0 == "handled" ? .green : .red)]
                } ?? []
            return TerminalText.line(outcome + [TerminalText.body(payload)])
        }
        var object = JSONObject()
        object.add(payload: payload)
        object.add("outcome", reply.outcome)
        object.add("contentType", reply.contentType)
        return object.line
    }
}
