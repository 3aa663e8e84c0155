import ArgumentParser
import Logging
import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// `signalbox subscribe URL`.
struct SubscribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Shows the messages of a broker's topics.",
        discussion: """
            One JSON object per message: topic, payload (JSON as it is, else text, else Base64 with "encoding"), \
            retained, qos, receivedAt, captures. It has no session at the broker: what was sent before it came is \
            seen only when retained. It ends with status 0 when --count messages are out or nobody reads its output \
            any more; with --timeout alone, when the time has passed and a message came.

            EXAMPLE
              signalbox subscribe mqtt://127.0.0.1:1883 --topic 'push/{device}/{action}' --count 3 --timeout 30s

            \(CommandStatus.help([
                .done, .usage, .unavailable, .outputFailed, .timeout, .interrupted,
                .terminated,
            ]))
            """
    )

    @Argument(help: ArgumentHelp("The broker: mqtt://host or mqtt://host:port.", valueName: "url"))
    var broker: String

    @Option(name: .customLong("topic"), help: "A topic filter or a pattern with captures; may be repeated.")
    var topics: [String]

    @Option(help: "End after this many messages.")
    var count: Int?

    @Option(help: "End after this time: a number of seconds, or a duration such as 500ms, 30s, 5m.")
    var timeout: String?

    @Flag(help: "Write each payload as it came, with a newline behind it, and nothing else.")
    var raw = false

    @Flag(help: "Try again when the first connection fails; else that is an error.")
    var retry = false

    @Option(help: "The user name at the broker.")
    var user: String?

    @Option(help: "The environment variable that holds the password.")
    var passwordEnv: String?

    @Option(help: "The file that holds the password.")
    var passwordFile: String?

    @Option(help: "What is told on stderr: \(LogChoice.allCases.map(\.rawValue).joined(separator: ", ")).")
    var logLevel = LogChoice.warning

    func validate() throws {
        _ = try request()
    }

    func run() async throws {
        let status = await SubscribeProgram.status(of: try request(), logger: logLevel.logger)
        throw status.code
    }

    private func request() throws -> SubscribeRequest {
        guard !topics.isEmpty else {
            throw ValidationError("--topic is missing; say which topics, such as --topic '#'")
        }
        guard count.map({ $0 >= 1 }) ?? true else { throw ValidationError("--count is at least 1") }
        guard passwordEnv == nil || passwordFile == nil else {
            throw ValidationError("--password-env and --password-file exclude each other")
        }
        let password =
            try passwordEnv.map { try VariableName.secret(in: $0, option: "--password-env") }
            ?? passwordFile.map(Secret.file)
        let patterns = try topics.map { text in
            do {
                return try TopicPattern(text)
            } catch {
                throw ValidationError("--topic: \(error)")
            }
        }
        let request = SubscribeRequest(
            broker: try checked { () throws(MQTTPushError) in try MQTTBroker(url: broker) },
            patterns: patterns,
            count: count,
            timeout: try timeout.map(TimeoutOption.duration),
            isRaw: raw,
            retries: retry,
            user: user,
            password: password
        )
        try checked { () throws(MQTTPushError) in try request.push.validate() }
        return request
    }

    private func checked<Value>(_ make: () throws(MQTTPushError) -> Value) throws -> Value {
        do {
            return try make()
        } catch {
            throw ValidationError(error.detail)
        }
    }
}
