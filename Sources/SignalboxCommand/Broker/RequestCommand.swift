import ArgumentParser
import Logging
import MQTTPush
import SignalboxCore

/// `signalbox request URL`.
struct RequestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "request",
        abstract: "Publishes a request to a broker and shows the reply.",
        discussion: """
            The request has its own Response Topic and Correlation Data (MQTT 5). The reply is one JSON object: payload \
            (the JSON value, else text, else Base64 with "encoding"), and outcome and contentType if the reply has them. \
            The status is 0 if the reply's outcome is 'handled' or absent.

            EXAMPLE
              signalbox request mqtt://127.0.0.1:1883 --topic push/kiosk/loading --payload '{}' --timeout 5s

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .unreadableFile, .unavailable, .outputFailed, .timeout, .refused,
                .notSecured, .interrupted, .terminated,
            ]))
            """
    )

    @Argument(help: ArgumentHelp("The broker: mqtt://host or mqtt://host:port, mqtts:// for TLS.", valueName: "url"))
    var broker: String

    @OptionGroup(title: "The message")
    var message: MessageArguments

    @OptionGroup(title: "The payload")
    var content: PayloadArguments

    @Option(help: "Wait at most this time for the reply: \(TimeoutOption.form); default 30s.")
    var timeout: String?

    @Option(defaultAsFlag: RawOutput.auto, parsing: .next, help: RawOutput.help("the reply's payload"))
    var raw: RawOutput?

    @OptionGroup(title: "The broker")
    var arguments: BrokerArguments

    @Option(help: "Log level on stderr: \(LogChoice.allCases.map(\.rawValue).joined(separator: ", ")).")
    var logLevel = LogChoice.warning

    func validate() throws {
        try RawOutput.validate(raw)
        _ = try request()
    }

    func run() async throws {
        arguments.warn()
        throw await RequestProgram.status(of: try request(), raw: raw, logger: logLevel.logger).code
    }

    /// Returns the validated options.
    func request() throws -> PublishRequest {
        guard let payload = try content.source() else {
            throw ValidationError("there is no payload; add --payload TEXT or --file FILE")
        }
        guard !arguments.usesV311 else { throw ValidationError("MQTT 3.1.1 has no response topics; remove --v311") }
        let wait = try timeout.map(TimeoutOption.duration) ?? .seconds(30)
        guard wait <= .seconds(86_400) else { throw ValidationError("--timeout must be at most 1d") }
        let options = try arguments.connectionOptions(at: broker)
        let request = PublishRequest(
            options: options,
            message: try message.emptyMessage(retain: false, version: options.version),
            payload: payload,
            timeout: wait
        )
        try BrokerArguments.checked { () throws(MQTTPushError) in try request.publisher.validate() }
        return request
    }
}

/// The `request` command, from reading the payload to the exit status.
enum RequestProgram {
    /// The time the command may exceed the reply timeout, so that the request itself reports a missing reply.
    private static let margin: Duration = .seconds(5)

    /// Publishes the request and prints the reply. All diagnostics are written when it returns.
    static func status(of request: PublishRequest, raw: RawOutput?, logger: Logger) async -> CommandStatus {
        do {
            let signals = await WatchedSignals.begin()
            let output = StandardOutput()
            let status = try await status(request, raw, output, signals, logger)
            let lost = await output.finish()
            if let lost, lost != .closed { DiagnosticOutput.shared.report("\(lost)") }
            await DiagnosticOutput.shared.flush()
            // Until here a second signal ends the program, regardless of what it waits for.
            withExtendedLifetime(signals) {}
            return lost == nil || lost == .closed ? status : .outputFailed
        } catch {
            return await CommandFailure(error).report()
        }
    }

    private static func status(
        _ request: PublishRequest,
        _ raw: RawOutput?,
        _ output: StandardOutput,
        _ signals: WatchedSignals,
        _ logger: Logger
    ) async throws -> CommandStatus {
        var message = request.message
        message.payload = try await PublishProgram.payload(request.payload)
        let timeout = request.timeout ?? .seconds(30)
        let publisher = try MQTTPublisher(request.publisher, logger: logger)
        let session = PublisherSession<Result<MQTTReply, MQTTPublishError>>(
            publisher: publisher,
            timeout: timeout + margin
        )
        let end = await session.run(signals) { [message] in
            do throws(MQTTPublishError) {
                return .success(try await publisher.request(message, timeout: timeout))
            } catch {
                return .failure(error)
            }
        }
        let topic = message.topic.debugDescription
        if case .success(let reply)? = end.value {
            let record = ReplyRecord(reply: reply)
            let line = output.isTerminal ? record.terminalLine : record.jsonLine
            output.offer(raw?.line(reply.payload, isTerminal: output.isTerminal) ?? line)
            return record.status
        }
        if let failure = end.failure {
            DiagnosticOutput.shared.report("no reply from \(topic): \(failure)")
            return (failure as? MQTTPushError).map { CommandStatus($0) } ?? .unavailable
        }
        guard case .failure(let error)? = end.value else { return end.interruption ?? .unavailable }
        DiagnosticOutput.shared.report("no reply from \(topic): \(error)")
        return end.interruption ?? CommandStatus(error)
    }
}

/// A reply as `request` prints it.
struct ReplyRecord {
    let reply: MQTTReply

    /// The exit status: `done` if the reply's outcome is `handled` or absent.
    var status: CommandStatus {
        reply.outcome.map { $0 == "handled" } ?? true ? .done : .notAsExpected
    }

    /// One JSON object with a newline.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        if let json {
            object.add("payload", json: json)
        } else {
            object.add("payload", content: Bytes(reply.payload))
        }
        object.add("outcome", reply.outcome)
        object.add("contentType", reply.contentType)
        return object.line
    }

    /// The outcome, if present, and the payload.
    var terminalLine: [UInt8] {
        let text =
            json.map { String(decoding: $0, as: UTF8.self) }
            ?? String(validating: reply.payload, as: UTF8.self).map(LineEscape.escaped)
            ?? "(\(reply.payload.count) bytes)"
        let outcome = reply.outcome.map { [TerminalText.column($0, width: 8)] } ?? []
        return TerminalText.line(outcome + [text])
    }

    /// The payload without insignificant white space, or `nil` if it is not JSON.
    private var json: [UInt8]? {
        guard !reply.payload.isEmpty, (try? Body(json: Bytes(reply.payload))) != nil else { return nil }
        return EscapedJSON.compact(reply.payload)
    }
}
