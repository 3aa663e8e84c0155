import ArgumentParser
import Logging
import SignalboxCore
import WebSocketChat

/// The command `signalbox serve CONFIG`, or with `--listen`.
struct ServeCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Runs a configuration with a WebSocket server and shows its address.",
        usage: """
            signalbox serve [<options>] <config>
            signalbox serve [<options>] --listen <address>
            """,
        discussion: """
            Works like 'run', and writes a line to stderr when a source of kind 'chat' starts to listen: chat: \
            listening on ws://127.0.0.1:8080/. The configuration must have such a source, and the program ends if one \
            cannot listen at startup. By default only this machine can reach a chat; docs/configuration/chat.md \
            describes who may connect.

            With --listen it needs no configuration: programs on this machine may connect, and pages of --allow-origin. \
            Each message is written to stdout, as in 'connect', and each line of stdin is sent to all clients; a line waits \
            until there is one. --echo and --broadcast send messages instead. On a terminal, Ctrl-D ends the command.

            EXAMPLE
              signalbox serve examples/tour/chat.yaml --port 8080
              signalbox serve --listen 127.0.0.1:8080 --echo

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .cannotListen,
                .outputFailed, .timeout, .drainIncomplete, .deadLettersLost, .interrupted, .terminated,
            ], of: "serve"))
            """
    )

    @Argument(
        help: ArgumentHelp("The configuration, a YAML file.", valueName: "config"),
        completion: .configuration
    )
    var config: String?

    @OptionGroup var request: ServeRequest

    @OptionGroup var options: RunArguments

    @OptionGroup(title: "Without a configuration")
    var listening: ListenArguments

    @OptionGroup(title: "Without a configuration")
    var limits: LimitArguments

    @OptionGroup(title: "Output without a configuration")
    var output: OutputArguments

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func validate() throws {
        if let config { try MixedArguments.validate(first: config) }
        if listening.listen == nil { try validateConfigured() } else { try validateListening() }
    }

    func perform() async throws -> CommandStatus {
        if let address = listening.listen { return try await listen(at: address) }
        guard let config else { throw CommandFailure(.usage, ServeCommand.nothingToServe) }
        return try await options.run(config, serving: request)
    }

    private static let nothingToServe = "there is nothing to serve; add a configuration, or --listen 127.0.0.1:8080"

    private func validateConfigured() throws(ValidationError) {
        guard config != nil else { throw ValidationError(ServeCommand.nothingToServe) }
        let bound = limits.count != nil ? "--count" : limits.timeout != nil ? "--timeout" : nil
        guard let option = listening.dependent ?? bound ?? output.option else { return }
        throw ValidationError("\(option) requires --listen; a configuration's plugins decide what happens to messages")
    }

    private func validateListening() throws(ValidationError) {
        guard config == nil else {
            throw ValidationError("--listen serves without a configuration; use --address and --port with one")
        }
        guard request.address == nil, request.port == nil else {
            throw ValidationError("--address and --port override a configuration; write --listen ADDRESS:PORT")
        }
        guard !options.outcomes else {
            throw ValidationError("--outcomes requires a configuration, because --listen calls no plugins")
        }
        guard !output.verbose else {
            throw ValidationError("--verbose shows topics, which WebSocket messages do not have; use --raw")
        }
    }

    private func listen(at address: ListenAddress) async throws -> CommandStatus {
        let logger = Logger(ofCommandAt: options.logLevel)
        var run = MessageRun(
            limits: limits,
            logger: logger,
            form: output.form,
            messageLimits: ConnectCommand.messageLimits
        )
        let source = try ListenSource(
            try listening.configuration(at: address),
            options: listening,
            form: output.base64 ? .base64 : listening.binary ? .binary : .text,
            logger: logger,
            output: run.output,
            stop: run.stop.continuation
        )
        run.onMessage = { source.forward($0, $1) }
        var report = try await run.report(of: source)
        if let error = report.end.failure as? WebSocketChatError, error.code == .notListening {
            throw CommandFailure(.cannotListen, error.commandText)
        }
        report.unsent = source.unsent
        return report.report()
    }
}

/// The options of `serve` that override the configuration.
struct ServeRequest: ParsableArguments {
    @Option(help: "Listen on this numeric address; overrides that of the only chat.")
    var address: String?

    @Option(help: "Listen on this port; overrides that of the only chat; 0 is any free port.")
    var port: UInt16?

    /// Checks that the configuration has a chat to serve, and applies the options to that chat.
    ///
    /// - Parameter file: The configuration's path, for error messages.
    /// - Throws: ``CommandFailure`` if there is no chat, or if an option is set but there are several chats.
    func apply(to configuration: inout RunConfiguration, file: String) throws(CommandFailure) {
        let indices = configuration.sources.indices.filter { configuration.sources[$0].kind.chat != nil }
        guard let index = indices.first else {
            let example = "chat: { chat: { port: 8080, principals: { NAME: { env: VARIABLE } } } }"
            let advice = "add one below 'sources', such as \(example)"
            throw CommandFailure(.invalidConfiguration, "\(file): there is no chat; \(advice)")
        }
        guard address != nil || port != nil else { return }
        guard indices.count == 1, case .chat(var chat) = configuration.sources[index].kind else {
            let names = indices.map { configuration.sources[$0].name.text }.joined(separator: ", ")
            let message =
                "--address and --port apply to a single chat, but there are several: \(names); set them in the configuration"
            throw CommandFailure(.usage, message)
        }
        chat.server.address = address ?? chat.server.address
        chat.server.port = port ?? chat.server.port
        do throws(WebSocketChatError) {
            try chat.server.validate()
        } catch {
            throw CommandFailure(.usage, "\(error)")
        }
        configuration.sources[index].kind = .chat(chat)
    }
}

/// Reports each chat's address on stderr as soon as the chat is listening.
final class ListenAddressReporter: Sendable {
    private struct Expected {
        let server: WebSocketServer
        let isFirst: Bool
    }

    /// A stream that yields when a chat in the first configuration has ended without ever listening.
    let failures: AsyncStream<Void>
    private let failing: AsyncStream<Void>.Continuation
    private let servers: AsyncStream<Expected>
    private let expecting: AsyncStream<Expected>.Continuation
    private let level: Logger.Level

    /// - Parameter level: The minimum level of the messages that are logged.
    init(level: Logger.Level) {
        self.level = level
        (failures, failing) = AsyncStream.makeStream()
        (servers, expecting) = AsyncStream.makeStream()
    }

    /// Adds a chat that is about to start.
    ///
    /// - Parameter isFirst: Whether the chat belongs to the first configuration. If a later chat cannot listen, the
    ///   program continues.
    func expect(_ server: WebSocketServer, isFirst: Bool) {
        expecting.yield(Expected(server: server, isFirst: isFirst))
    }

    /// Reports the address of each chat until the task is cancelled.
    func serve() async {
        await withDiscardingTaskGroup { group in
            for await expected in servers {
                group.addTask { await self.report(expected) }
            }
        }
    }

    private func report(_ expected: Expected) async {
        let server = expected.server
        guard let port = await server.port() else {
            if expected.isFirst { failing.yield() }
            return
        }
        // At the level `info` and below, the adapter logs the address itself.
        guard level > .info else { return }
        let url = server.configuration.url(port: port)
        DiagnosticOutput.shared.report("\(server.source): listening on \(url)", level: .info)
    }
}
