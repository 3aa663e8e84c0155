import ArgumentParser
import Logging
import MQTTPush
import SignalboxCore

/// `signalbox publish URL`.
struct PublishCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publishes one message to a broker, or each line of stdin.",
        discussion: """
            The status is 0 if the broker accepted every message; at QoS 1 it acknowledges each. With --lines the last \
            line on stderr counts published and unpublished messages; empty lines are skipped.

            EXAMPLE
              signalbox publish mqtt://127.0.0.1:1883 --topic push/kiosk/loading --payload '{"percent":50}'

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .unreadableFile, .unavailable, .timeout, .refused, .notSecured,
                .interrupted, .terminated,
            ]))
            """
    )

    @Argument(help: ArgumentHelp("The broker: mqtt://host or mqtt://host:port, mqtts:// for TLS.", valueName: "url"))
    var broker: String

    @OptionGroup(title: "The message")
    var message: MessageArguments

    @OptionGroup(title: "The payload")
    var content: PayloadArguments

    @Flag(help: "Publish each line of stdin as a separate message.")
    var lines = false

    @Flag(help: "Have the broker retain the message for later subscribers; an empty one deletes it.")
    var retain = false

    @Option(help: "Give up after this time: \(TimeoutOption.form). Default for a single message: 30s.")
    var timeout: String?

    @OptionGroup(title: "The broker")
    var arguments: BrokerArguments

    @Option(help: "Log level on stderr: \(LogChoice.allCases.map(\.rawValue).joined(separator: ", ")).")
    var logLevel = LogChoice.warning

    func validate() throws {
        _ = try request()
    }

    func run() async throws {
        arguments.warn()
        throw await PublishProgram.status(of: try request(), logger: logLevel.logger).code
    }

    /// Returns the validated options.
    func request() throws -> PublishRequest {
        let payload = try content.source()
        guard payload == nil || !lines else {
            throw ValidationError("--lines reads the payloads from stdin; remove --payload and --file")
        }
        guard let payload = lines ? .lines : payload else {
            throw ValidationError("there is no payload; add --payload TEXT, --file FILE or --lines")
        }
        let options = try arguments.connectionOptions(at: broker)
        let request = PublishRequest(
            options: options,
            message: try message.emptyMessage(retain: retain, version: options.version),
            payload: payload,
            timeout: try timeout.map(TimeoutOption.duration)
        )
        try BrokerArguments.checked { () throws(MQTTPushError) in try request.publisher.validate() }
        return request
    }
}

/// The `publish` command, from reading the payload to the exit status.
enum PublishProgram {
    /// Publishes the messages and reports failures. All diagnostics are written when it returns.
    static func status(of request: PublishRequest, logger: Logger) async -> CommandStatus {
        do {
            let signals = await WatchedSignals.begin()
            let status: CommandStatus
            if request.payload == .lines {
                status = try await lines(request, signals, logger)
            } else {
                status = try await single(request, signals, logger)
            }
            await DiagnosticOutput.shared.flush()
            // Until here a second signal ends the program, regardless of what it waits for.
            withExtendedLifetime(signals) {}
            return status
        } catch {
            return await CommandFailure(error).report()
        }
    }

    /// Returns the bytes of one message.
    static func payload(_ source: PublishRequest.Payload) async throws(CommandFailure) -> [UInt8] {
        let limit = PublishRequest.payloadLimit
        do throws(FileReadError) {
            switch source {
            case .text(let text): return Array(text.utf8)
            case .file(let path): return try await FileContent.waiting { FileContent.read(path, limit: limit) }.get()
            case .standardInput, .lines:
                return try await FileContent.waiting { FileContent.read(0, limit: limit) }.get()
            }
        } catch {
            let name = if case .file(let path) = source { path } else { "stdin" }
            throw CommandFailure(.unreadableFile, "\(name) cannot be read: \(error)")
        }
    }

    private static func single(_ request: PublishRequest, _ signals: WatchedSignals, _ logger: Logger) async throws
        -> CommandStatus
    {
        var message = request.message
        message.payload = try await payload(request.payload)
        let publisher = try MQTTPublisher(request.publisher, logger: logger)
        let session = PublisherSession<MQTTPublishError?>(publisher: publisher, timeout: request.timeout)
        let end = await session.run(signals) { [message] in
            do throws(MQTTPublishError) {
                try await publisher.publish(message)
                return nil
            } catch {
                return error
            }
        }
        let topic = message.topic.debugDescription
        if let failure = end.failure {
            DiagnosticOutput.shared.report("not published to \(topic): \(failure)")
            return status(of: failure)
        }
        guard let error = end.value ?? nil else { return .done }
        DiagnosticOutput.shared.report("not published to \(topic): \(error)")
        return end.interruption ?? CommandStatus(error)
    }

    private static func lines(_ request: PublishRequest, _ signals: WatchedSignals, _ logger: Logger) async throws
        -> CommandStatus
    {
        let publisher = try MQTTPublisher(request.publisher, logger: logger)
        let lines = PublishedLines(publisher: publisher, message: request.message)
        let session = PublisherSession<LineCounts>(publisher: publisher, timeout: request.timeout)
        let end = await session.run(signals) { await lines.run() }
        if let failure = end.failure { DiagnosticOutput.shared.report("\(failure)") }
        let report = PublishReport(
            topic: request.message.topic,
            lines: end.value ?? LineCounts(),
            counts: publisher.counts
        )
        for line in report.messages { DiagnosticOutput.shared.report(line) }
        if let failure = end.failure { return status(of: failure) }
        return end.interruption ?? report.status
    }

    private static func status(of failure: any Error) -> CommandStatus {
        (failure as? MQTTPushError).map { CommandStatus($0) } ?? .unavailable
    }
}
