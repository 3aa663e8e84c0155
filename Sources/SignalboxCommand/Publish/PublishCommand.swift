import ArgumentParser
import Logging
import MQTTPush

/// `signalbox publish URL`.
struct PublishCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publishes one message to a broker, or each line of stdin.",
        discussion: """
            It ends with status 0 when the broker has taken every message: at QoS 1 it has acknowledged each. With \
            --lines the last line on stderr counts what was published and what was not; empty lines are no messages.

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

    @OptionGroup(title: "What it says")
    var content: PayloadArguments

    @Flag(help: "Publish each line of stdin as a message of its own.")
    var lines = false

    @Flag(help: "Have the broker keep the message for those who subscribe later; an empty one deletes it.")
    var retain = false

    @Option(help: "Give up after this time: \(TimeoutOption.form). A single message waits 30 s without it.")
    var timeout: String?

    @OptionGroup(title: "The broker")
    var login: BrokerArguments

    @Option(help: "What is told on stderr: \(LogChoice.allCases.map(\.rawValue).joined(separator: ", ")).")
    var logLevel = LogChoice.warning

    func validate() throws {
        _ = try request()
    }

    func run() async throws {
        login.warn()
        throw await PublishProgram.status(of: try request(), logger: logLevel.logger).code
    }

    /// What the options say.
    func request() throws -> PublishRequest {
        let payload = try content.source()
        guard payload == nil || !lines else {
            throw ValidationError("--lines takes what the messages say from stdin; leave --payload and --file out")
        }
        guard let payload = lines ? .lines : payload else {
            throw ValidationError("say what is published: --payload TEXT, --file FILE or --lines")
        }
        let login = try login.login(at: broker)
        let request = PublishRequest(
            login: login,
            message: try message.emptyMessage(retain: retain, version: login.version),
            payload: payload,
            timeout: try timeout.map(TimeoutOption.duration)
        )
        try BrokerArguments.checked { () throws(MQTTPushError) in try request.publisher.validate() }
        return request
    }
}
