import ArgumentParser
import Logging
import MQTTPush

/// `signalbox request URL`.
struct RequestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "request",
        abstract: "Publishes a request to a broker, and shows the reply.",
        discussion: """
            The request has a Response Topic and Correlation Data of its own (MQTT 5). The reply is one JSON object: \
            payload (JSON as it is, else text, else Base64 with "encoding"), and where the reply has them outcome and \
            contentType. The status is 0 when the outcome is 'handled', or the reply tells of none.

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

    @OptionGroup(title: "What it says")
    var content: PayloadArguments

    @Option(help: "Wait at most this time for the reply: \(TimeoutOption.form); 30s without it.")
    var timeout: String?

    @Option(defaultAsFlag: RawOutput.auto, parsing: .next, help: RawOutput.help("the reply's payload"))
    var raw: RawOutput?

    @OptionGroup(title: "The broker")
    var login: BrokerArguments

    @Option(help: "What is told on stderr: \(LogChoice.allCases.map(\.rawValue).joined(separator: ", ")).")
    var logLevel = LogChoice.warning

    func validate() throws {
        try RawOutput.validate(raw)
        _ = try request()
    }

    func run() async throws {
        login.warn()
        throw await RequestProgram.status(of: try request(), raw: raw, logger: logLevel.logger).code
    }

    /// What the options say.
    func request() throws -> PublishRequest {
        guard let payload = try content.source() else {
            throw ValidationError("say what is asked: --payload TEXT or --file FILE")
        }
        guard !login.isOld else { throw ValidationError("MQTT 3.1.1 has no response topics; leave --v311 out") }
        let wait = try timeout.map(TimeoutOption.duration) ?? .seconds(30)
        guard wait <= .seconds(86_400) else { throw ValidationError("--timeout: a reply is waited for at most 1d") }
        let login = try login.login(at: broker)
        let request = PublishRequest(
            login: login,
            message: try message.emptyMessage(retain: false, version: login.version),
            payload: payload,
            timeout: wait
        )
        try BrokerArguments.checked { () throws(MQTTPushError) in try request.publisher.validate() }
        return request
    }
}
