import ArgumentParser
import Foundation
import Logging
import SignalboxCore
import WebSocketChat

/// `signalbox connect URL`.
struct ConnectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connect",
        abstract: "Connects to a WebSocket server, sends lines of stdin and shows received messages.",
        discussion: """
            Each line of stdin is sent as one message. Each received message is one JSON object: payload (the JSON \
            value, else text, else Base64 with "encoding"), binary, receivedAt. With --config, messages go to the plugins \
            of a configuration instead, and each line shows the outcome, as in 'bridge'. In a pipe, the end of stdin does \
            not end the command; --count, --timeout and --exit-after-input do. On a terminal, Ctrl-D ends it.

            EXAMPLE
              echo '{"action":"say","id":"1","body":"hello"}' | signalbox connect ws://127.0.0.1:8080/ --count 1 --timeout 5s

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .outputFailed,
                .timeout, .protocolBroken, .refused, .notSecured, .closedWithError, .interrupted, .terminated,
            ]))
            """
    )

    @Argument(help: ArgumentHelp("The server: ws://host:port/path, or wss:// for TLS.", valueName: "url"))
    var urls: [String] = []

    @Option(help: "End after this many messages, or outcomes with --config.")
    var count: Int?

    @Option(help: "End after this time: \(TimeoutOption.form).")
    var timeout: String?

    @Option(defaultAsFlag: RawOutput.auto, parsing: .next, help: RawOutput.help("each message"))
    var raw: RawOutput?

    @Flag(help: "Reconnect if the connection breaks or cannot be made; without it, the command ends.")
    var reconnect = false

    @Option(help: ArgumentHelp("The configuration whose plugins are called.", valueName: "file"))
    var config: String?

    @Option(help: ArgumentHelp("The feed of the configuration, if there are several.", valueName: "name"))
    var source: String?

    @OptionGroup(title: "Sent messages")
    var outgoing: OutgoingArguments

    @OptionGroup(title: "The connection")
    var connection: ConnectionArguments

    @Option(help: "Log level on stderr: \(LogChoice.allCases.map(\.rawValue).joined(separator: ", ")).")
    var logLevel: LogChoice?

    func validate() throws {
        try RawOutput.validate(raw)
        let request = try request()
        guard let url = request.url, request.config == nil else { return }
        do throws(WebSocketChatError) {
            try request.plainFeed(to: url).validate(as: ConnectRequest.source)
        } catch {
            throw ValidationError(error.detail)
        }
    }

    func run() async throws {
        if connection.insecure {
            let danger = "anyone on the network path can read and change all traffic"
            DiagnosticOutput.shared.report("--insecure: no certificate is checked, so \(danger)")
        }
        // On a terminal, the log line about the connection is useful.
        let level = logLevel ?? (ConnectCommand.isInteractive ? .info : .warning)
        throw await ConnectProgram.status(of: try request(), logger: level.logger).code
    }

    private static var isInteractive: Bool { isatty(STDIN_FILENO) == 1 }

    private func request() throws -> ConnectRequest {
        guard urls.count <= 1 else { throw ValidationError("expected only one URL") }
        guard !urls.isEmpty || config != nil else {
            throw ValidationError("there is no server; add a URL such as ws://127.0.0.1:8080/, or --config with a feed")
        }
        guard count.map({ $0 >= 1 }) ?? true else { throw ValidationError("--count must be at least 1") }
        guard source == nil || config != nil else {
            throw ValidationError("--source names a source of a configuration; add --config")
        }
        guard raw == nil || config == nil else {
            throw ValidationError("--raw writes received messages, but --config writes outcomes; remove one of them")
        }
        return ConnectRequest(
            url: try urls.first.map(ConnectCommand.url),
            options: try connection.options(reconnects: reconnect),
            config: config,
            source: source,
            count: count,
            timeout: try timeout.map(TimeoutOption.duration),
            raw: raw,
            outgoing: outgoing.request(isInteractive: ConnectCommand.isInteractive)
        )
    }

    /// Parses the URL, which never appears in an error message, because its query may contain a token.
    private static func url(_ text: String) throws -> WebSocketURL {
        do throws(WebSocketChatError) {
            return try WebSocketURL(text)
        } catch {
            throw ValidationError(error.detail)
        }
    }
}

/// The validated arguments of `connect`.
struct ConnectRequest: Sendable {
    static let source: SourceName = "connection"
    static let action: ActionName = "message"
    /// The maximum size of a message without a configuration. A larger one closes the connection.
    static let limits = MessageLimits(bytes: 16 << 20)
    /// The maximum time that a message waits for a slow reader of stdout.
    static let outputTimeout: Duration = .seconds(3_600)

    /// The server, or `nil` if the configuration names it.
    let url: WebSocketURL?
    /// The options for the connection.
    let options: ConnectOptions
    /// The path of the configuration whose plugins are called.
    let config: String?
    /// The name of the feed in the configuration.
    let source: String?
    let count: Int?
    let timeout: Duration?
    let raw: RawOutput?
    let outgoing: OutgoingRequest

    /// Whether the user set a condition for success. Otherwise every end is a success.
    var hasSuccessCondition: Bool { count != nil || timeout != nil }
    /// The number of messages required for success.
    var requiredCount: Int { count ?? 1 }

    /// Returns the feed without a configuration: every message is the same action, regardless of its content.
    func plainFeed(to url: WebSocketURL) -> FeedSection {
        var feed = FeedSection(url: url)
        feed.frames = WebSocketFrames(text: .action(ConnectRequest.action, .text), binary: ConnectRequest.action)
        feed.reconnect = nil
        // A line may be as long as a message.
        feed.waitingBytes = ConnectRequest.limits.bytes * 2
        options.apply(to: &feed)
        return feed
    }

    /// Returns the feed of a configuration, changed by the options. It reconnects only if an option requests it.
    func configuredFeed(_ section: FeedSection) -> FeedSection {
        var feed = section
        if let url { feed.url = url }
        let waits = feed.reconnect
        feed.reconnect = nil
        options.apply(to: &feed)
        if feed.reconnect != nil { feed.reconnect = waits ?? feed.reconnect }
        return feed
    }
}
