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
                .done, .usage, .unavailable, .outputFailed, .timeout, .refused, .notSecured, .interrupted,
                .terminated,
            ]))
            """
    )

    @Argument(help: ArgumentHelp("The broker: mqtt://host or mqtt://host:port, mqtts:// for TLS.", valueName: "url"))
    var broker: String

    @Option(
        name: [.customShort("t"), .customLong("topic")],
        help: "A topic filter or a pattern with captures; may be repeated."
    )
    var topics: [String]

    @Option(help: "The most each message is worth: 0, at most once, or 1, at least once; 1 without it.")
    var qos: Int?

    @Option(
        help: ArgumentHelp("Share the messages with all who name this group: each goes to one.", valueName: "group")
    )
    var share: String?

    @Option(help: "What becomes of messages that the broker had stored: deliver, ignore.")
    var retained: String?

    @Option(help: "End after this many messages.")
    var count: Int?

    @Option(help: "End after this time: a number of seconds, or a duration such as 500ms, 30s, 5m.")
    var timeout: String?

    @Option(defaultAsFlag: RawOutput.auto, parsing: .next, help: RawOutput.help("each payload"))
    var raw: RawOutput?

    @Flag(help: "Say on stderr once a second how many messages came.")
    var rate = false

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
        let status = await SubscribeProgram.status(of: try request(), logger: logLevel.logger)
        throw status.code
    }

    private func request() throws -> SubscribeRequest {
        guard !topics.isEmpty else {
            throw ValidationError("--topic is missing; say which topics, such as --topic '#'")
        }
        guard count.map({ $0 >= 1 }) ?? true else { throw ValidationError("--count is at least 1") }
        let request = SubscribeRequest(
            login: try login.login(at: broker),
            patterns: try topics.map { try pattern($0) },
            quality: try QualityOption.quality(qos),
            retained: try retainedMessages(),
            count: count,
            timeout: try timeout.map(TimeoutOption.duration),
            raw: raw,
            showsRate: rate
        )
        try BrokerArguments.checked { () throws(MQTTPushError) in try request.push.validate() }
        return request
    }

    private func pattern(_ text: String) throws(ValidationError) -> TopicPattern {
        var text = text
        if let share {
            let isName = !share.isEmpty && !share.contains { "/+#{}".contains($0) }
            guard isName else { throw ValidationError("--share: a name without '/', '+', '#' and braces expected") }
            guard !text.hasPrefix("$share/") else {
                throw ValidationError("--topic: it names a group already; leave --share out")
            }
            text = "$share/\(share)/\(text)"
        }
        do throws(TopicError) {
            return try TopicPattern(text)
        } catch {
            throw ValidationError("--topic: \(error)")
        }
    }

    private func retainedMessages() throws(ValidationError) -> MQTTRetained {
        guard let retained else { return .deliver }
        guard let choice = MQTTRetained(rawValue: retained) else {
            let words = MQTTRetained.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("--retained: one of \(words) expected")
        }
        return choice
    }
}
