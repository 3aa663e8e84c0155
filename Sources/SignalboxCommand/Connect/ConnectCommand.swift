import AdapterSupport
import ArgumentParser
import Logging
import Signalbox
import SignalboxCore
import WebSocketChat

/// The command `signalbox connect URL`, or with a configuration.
struct ConnectCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "connect",
        abstract: "Connects to a WebSocket server, sends lines of stdin and shows received messages.",
        discussion: """
            Each line of stdin is sent as one message. Each received message is one JSON object: payload, payloadKind \
            ("json": payload is the JSON value, "text": a string, "binary": Base64), binary, receivedAt. With CONFIG, \
            messages go to the plugins of a configuration instead, and each line shows the outcome, as in 'bridge'. With \
            --base64, each line of stdin and --body is the Base64 of a binary message, too.

            When stdin ends, the command closes the connection 1 s (--linger) after the last line is sent, whatever \
            arrives meanwhile, or ends when the server closes. A server that reads slowly delays that second. With \
            --count it waits for N messages instead, and --timeout bounds every wait. It keeps the connection if stdin \
            had no line, such as /dev/null, and with --retry; --exit-after-input or --linger ends it nevertheless. \
            On a terminal, Ctrl-D closes the connection at once.

            EXAMPLES
              echo '{"action":"say","id":"1","body":"hello"}' \\
                | signalbox connect ws://127.0.0.1:8080/
              signalbox connect wss://feed.example/prices --bearer-file token.txt --retry \\
                --open-message '{"subscribe":"ABC"}' --no-input

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .outputFailed,
                .timeout, .protocolBroken, .refused, .notSecured, .closedWithError, .interrupted, .terminated,
            ], of: "connect"))
            """
    )

    /// The message limits if there is no configuration. A message that exceeds them closes the connection.
    static let messageLimits = MessageLimits(bytes: 16 << 20, depth: 512)

    @Argument(
        help: ArgumentHelp(
            "The server: ws://host:port/path, or wss:// for TLS. A configuration (.yaml or .yml) whose plugins are called.",
            valueName: "url|config"
        ),
        completion: .configuration
    )
    var arguments: [String] = []

    @OptionGroup var limits: LimitArguments

    @OptionGroup(title: "Output")
    var output: OutputArguments

    @Option(help: ArgumentHelp("The name of the source in the configuration.", valueName: "name"))
    var source: String?

    @OptionGroup(title: "Sent messages")
    var outgoing: OutgoingArguments

    @OptionGroup(title: "The connection")
    var connection: ConnectionArguments

    @Option(help: "Log level on stderr.")
    var logLevel: Logger.Level?

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    private var mixed: MixedArguments { MixedArguments(arguments) }

    func validate() throws {
        try mixed.validate(source: source)
        guard mixed.others.count <= 1 else {
            throw ValidationError("expected only one URL; the name of a configuration ends in .yaml or .yml")
        }
        if let option = output.option, mixed.configuration != nil {
            let problem = "writes received messages, but a configuration's plugins handle them; remove one of them"
            throw ValidationError("\(option) \(problem)")
        }
        guard !output.verbose else {
            throw ValidationError("--verbose shows topics, which WebSocket messages do not have; use --raw")
        }
        try outgoing.validate(outgoing.form(base64: output.base64))
        let url = try url()
        guard url != nil || mixed.configuration != nil else {
            // In websocat, '-u' is a flag about the direction of messages.
            if connection.user?.contains("://") == true {
                throw ValidationError("-u takes a user name; to send messages only, redirect stdout to /dev/null")
            }
            let advice = "add a URL such as ws://127.0.0.1:8080/, or a configuration with a feed"
            throw ValidationError("there is no server; \(advice)")
        }
        try ValidationError.checked {
            let feed = try feed(from: try url ?? WebSocketURL("ws://localhost/"))
            if mixed.configuration == nil { try feed.validate() }
        }
    }

    func perform() async throws -> CommandStatus {
        try FileOptions.check(connection.files)
        // At a terminal, the user should see the log line about the connection.
        let level = logLevel ?? (OutgoingArguments.isInteractive ? .info : .warning)
        let logger = Logger(ofCommandAt: level, hasPlugins: mixed.configuration != nil)
        do {
            if let config = mixed.configuration { return try await runPlugins(of: config, logger) }
            guard let url = try url() else {
                throw CommandFailure(.usage, "there is no server; add a URL: ws://host:port/path")
            }
            return try await show(try feed(from: url), logger)
        } catch let error as WebSocketChatError {
            throw CommandFailure(.usage, error.commandText)
        }
    }

    /// Returns the URL. Error messages never contain it, because its query may include a token.
    private func url() throws(ValidationError) -> WebSocketURL? {
        guard let text = mixed.others.first else { return nil }
        return try ValidationError.checked { try WebSocketURL(text) }
    }

    /// Returns the feed to use without a configuration. Every message becomes the same action, whatever it contains.
    func feed(from url: WebSocketURL) throws -> WebSocketFeedConfiguration {
        var feed = WebSocketFeedConfiguration(source: "connection", url: url)
        feed.limits = ConnectCommand.messageLimits
        feed.frames = WebSocketFrames(text: .action(MessageRun.action, .text), binary: MessageRun.action)
        // A line can be as long as a message.
        feed.waitingBytes = ConnectCommand.messageLimits.bytes * 2
        try connection.apply(to: &feed)
        return feed
    }

    /// Returns a configured feed with the options applied.
    func feed(changing section: WebSocketFeedConfiguration) throws -> WebSocketFeedConfiguration {
        var feed = section
        feed.url = try url() ?? section.url
        try connection.apply(to: &feed)
        return feed
    }

    private func show(_ feed: WebSocketFeedConfiguration, _ logger: Logger) async throws -> CommandStatus {
        var run = MessageRun(
            limits: limits,
            logger: logger,
            form: output.form,
            messageLimits: ConnectCommand.messageLimits
        )
        let stop = run.stop.continuation
        let input = try await outgoing.input(base64: output.base64)
        let source = try ConnectSource(
            feed,
            outgoing: input,
            hasCount: limits.count != nil,
            logger: logger,
            output: run.output,
            stop: stop
        )
        run.onCountReached = { source.close() }
        var report = try await run.report(of: source)
        report.unsent = source.unsent
        report.closedAfterInput = source.closedAfterInput
        return report.report()
    }

    private func runPlugins(of file: String, _ logger: Logger) async throws -> CommandStatus {
        let configuration = try ConfigurationFile.read(file, for: .plugins)
        let none = "there is no feed; add one below 'sources', such as feed: { feed: { url: 'wss://host/path' } }"
        let choice = SourceChoice(kind: "feed", none: none, file: file)
        let (section, feed) = try choice.one(source, in: configuration, \.feed)
        let input = try await outgoing.input(base64: false)
        let output = StandardOutput()
        let stop = AsyncStream.makeStream(of: Void.self)
        let source = try ConnectSource(
            try self.feed(changing: feed),
            outgoing: input,
            hasCount: limits.count != nil,
            logger: logger,
            output: output,
            stop: stop.continuation
        ) { output.offer(ConnectCommand.line(for: $0, isTerminal: output.isTerminal)) }
        var run = SingleSourceRun(configuration: configuration, adapter: source, output: output, logger: logger)
        run.window = section.window
        run.timeout = limits.timeout
        run.count = limits.count
        run.onCountReached = { source.close() }
        run.stop = stop
        let report = try await run.report()
        var result = MessageReport(limits: limits, end: report.session, shown: report.summary.settled)
        result.unsent = source.unsent
        result.closedAfterInput = source.closedAfterInput
        result.notHandled = report.summary.notHandled
        return result.report()
    }

    /// Returns the line for an outcome that the server reported. On a terminal, it is text. Otherwise, it is a JSON
    /// object with the member `answer`.
    private static func line(for answer: Bytes, isTerminal: Bool) -> [UInt8] {
        let json = EscapedJSON.compact(answer)
        guard !isTerminal else { return TerminalText.line(["answer ", String(decoding: json, as: UTF8.self)]) }
        var object = JSONObject()
        object.add("answer", json: json)
        return object.line
    }
}
