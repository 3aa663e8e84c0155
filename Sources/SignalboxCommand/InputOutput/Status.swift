import ArgumentParser
import BrowserBridge
import JSBridge
import MQTTPush
import SignalboxCore
import SignalboxStore
import WebSocketChat

/// The exit statuses of `signalbox`. docs/command.md and each command's `--help` list the same statuses.
enum CommandStatus: Int32, CaseIterable {
    /// The command has done all its work. If it drained, nothing was left.
    case done = 0
    /// The command ran, but the result is not the expected one.
    ///
    /// - `bridge`, `send`, `connect`, `request`: A message was not handled.
    /// - `bridge`: A script failed, a limit closed the page, or the lines differ from those of `--expect`.
    /// - `parse`: A URL or its query was refused, or the URL has no route.
    /// - `navigate`: A URL was cancelled.
    /// - `explain`: No plugin would be called.
    /// - `test`: A test failed.
    /// - `connect`: A line was not sent, or the server closed before enough messages had arrived.
    /// - `publish`: A message was not published.
    /// - `dead`: A message failed again, or there is no such dead letter.
    /// - `store check`: The file has faults.
    case notAsExpected = 1
    /// The arguments are invalid (sysexits: EX_USAGE).
    case usage = 64
    /// The configuration or the body for `send` is invalid (EX_DATAERR).
    case invalidConfiguration = 65
    /// Stdin or a file that the user named cannot be read (EX_NOINPUT). The file may be the configuration, a script, a
    /// file of links, a recorded run, a store, or a certificate or secret of an option.
    case unreadableFile = 66
    /// A source or plugin could not start, a source gave up, or another process uses the store (EX_UNAVAILABLE). In `subscribe`, `publish`, `request`
    /// and `connect`, the server cannot be reached or the connection was lost.
    case unavailable = 69
    /// The system does not provide what the command needs (EX_OSERR):
    ///
    /// - `run`, `serve`: A chat cannot listen. Its port is taken, its address does not belong to this machine, or its
    ///   certificate is unusable.
    /// - All commands: At the start, the limits of threads, file descriptors or memory are too low
    ///   (``SystemResources``).
    case cannotListen = 71
    /// Output could not be written (EX_IOERR).
    case outputFailed = 74
    /// The `--timeout` expired before the command was done (EX_TEMPFAIL):
    ///
    /// - `subscribe` or `connect` did not have enough messages.
    /// - `publish` was not done.
    /// - `request` did not have its reply.
    /// - A page or a call had not ended.
    case timeout = 75
    /// In `connect`, the server violated RFC 6455, sent a message that is not accepted, or did not answer as a
    /// WebSocket server (EX_PROTOCOL). A violation has this status only if it can be distinguished from a lost
    /// connection.
    case protocolBroken = 76
    /// The server or broker refused access (EX_NOPERM). In `connect`, the server answered with an HTTP status such as
    /// 401 or 403 instead of opening a connection, or the proxy refused the login or the server. In `subscribe`,
    /// `publish` and `request`, the broker refused the login or denied a message, a server in front of it denied the
    /// WebSocket, or the proxy refused the login or the broker.
    case refused = 77
    /// When the drain ended, some arrivals had been abandoned or some calls had not returned.
    case drainIncomplete = 80
    /// In `connect`, `subscribe`, `publish` and `request`, TLS failed. The server's certificate is not trusted or not
    /// valid for this host, or a certificate file has unusable content.
    case notSecured = 81
    /// In `connect`, the server closed the connection with an error code, which is any close code other than 1000 and
    /// 1001.
    case closedWithError = 82
    /// In `run` and `serve`, everything was settled, but the dead letters were only kept in memory and are lost, or the store
    /// could not be written at the end.
    case deadLettersLost = 83
    /// A second SIGINT ended the program. In `subscribe`, `publish`, `request`, `connect`, `bridge` and `send`, this
    /// can also mean that the first SIGINT arrived before the command was done.
    case interrupted = 130
    /// A second SIGTERM ended the program. In `subscribe`, `publish`, `request`, `connect`, `bridge` and `send`, this
    /// can also mean that the first SIGTERM arrived before the command was done. In any command, the program may have been
    /// unable to react to the first one (``SignalWatch``).
    case terminated = 143

    /// The exit status as an error that argument-parser understands.
    var code: ExitCode { ExitCode(rawValue) }

    /// Returns the lines in `--help` that describe these statuses, and the one that every command has if the system's
    /// limits are too low.
    ///
    /// - Parameter command: The command that has the statuses, or `nil` for those of all commands.
    static func help(_ statuses: [CommandStatus], of command: String? = nil) -> String {
        let lines = allCases.filter { $0 == .cannotListen || statuses.contains($0) }.map { status in
            let meaning = command.flatMap { status.meaning(in: $0) } ?? status.meaning
            return "  " + TerminalText.column("\(status.rawValue)", width: 5) + wrapped(meaning, indent: 7)
        }
        return (["EXIT STATUS"] + lines).joined(separator: "\n")
    }

    /// Breaks text into lines of less than 80 columns, with all but the first indented. The argument parser would continue a
    /// line that is too long in the first column.
    private static func wrapped(_ text: String, indent: Int) -> String {
        var (lines, line) = ([String](), "")
        for word in text.split(separator: " ") {
            guard !line.isEmpty else {
                line = String(word)
                continue
            }
            if indent + line.count + 1 + word.count < 80 {
                line += " \(word)"
            } else {
                lines.append(line)
                line = String(word)
            }
        }
        return (lines + [line]).joined(separator: "\n" + String(repeating: " ", count: indent))
    }

    /// What the status means in one command, if it can mean something else in others.
    private func meaning(in command: String) -> String? {
        if let meaning = meaning(inStoreCommand: command) ?? meaning(inControlCommand: command) { return meaning }
        let ends = ["subscribe", "publish", "request", "connect", "bridge", "send"].contains(command)
        switch self {
        case .notAsExpected: return CommandStatus.unexpectedResults[command]
        case .invalidConfiguration:
            return command == "send"
                ? "the configuration or the body is invalid" : "the configuration is invalid"
        case .unavailable:
            guard command != "connect" else {
                return "the server cannot be reached, the connection broke, or a plugin could not start"
            }
            return ["subscribe", "publish", "request"].contains(command)
                ? "the server cannot be reached, or the connection broke"
                : "a source or plugin could not start, or a source gave up"
                    + (["run", "serve"].contains(command) ? "; or another process uses the store" : "")
        case .cannotListen:
            let limits = "the system has too few threads, file descriptors or memory"
            guard ["run", "serve"].contains(command) else { return limits }
            return "\(limits); or a chat cannot listen: the port is in use, or the address or certificate is unusable"
        case .refused:
            return command == "connect"
                ? "the server refused the connection with an HTTP status code, or a proxy refused it"
                : "the broker or a proxy refused access, or the broker denied a message"
        case .interrupted: return ends ? "a SIGINT before the end" : "a second SIGINT"
        case .terminated: return ends ? "a SIGTERM before the end" : "a second SIGTERM"
        default: return nil
        }
    }

    /// What the status means in `dead`, `store` and their subcommands, if it means something else in others.
    private func meaning(inStoreCommand command: String) -> String? {
        guard ["dead", "log", "store"].contains(command.prefix { $0 != " " }) else { return nil }
        return switch self {
        case .invalidConfiguration where ["dead", "dead import"].contains(command):
            "the configuration, or a line to import, is invalid"
        case .unreadableFile: "the store or another file cannot be read or changed"
        case .unavailable: "a plugin could not start, or the program that uses the store has ended"
        case .interrupted: "a SIGINT before the end"
        case .terminated: "a SIGTERM before the end"
        default: nil
        }
    }

    /// What the status means in the commands that ask a running program, if it means something else in others.
    private func meaning(inControlCommand command: String) -> String? {
        guard ["status", "top", "tap", "reload", "drain", "log-level"].contains(command) else { return nil }
        return switch self {
        case .invalidConfiguration where command == "reload":
            "the configuration is invalid, and the program keeps the old one"
        case .unavailable: "no program answers, or it ended before it answered"
        case .protocolBroken: "the program's answer cannot be read"
        case .refused: "the program's control socket is read-only"
        default: nil
        }
    }

    /// What ``notAsExpected`` means, by command.
    private static let unexpectedResults = [
        "publish": "a message was not published",
        "request": "the message was not published, or the reply says that it was not handled",
        "connect": "a message was not handled, a line was not sent, or the server closed before --count messages",
        "serve": "with --listen, a line was not sent",
        "bridge": "a message was not handled, a script failed, or the output differs from --expect",
        "send": "the action was not handled",
        "parse": "a URL or its query was refused, or the URL has no route",
        "navigate": "a URL was cancelled",
        "explain": "no plugin would be called",
        "test": "a test failed",
        "dead": "a message failed again, there is no such dead letter, or nothing was deleted",
        "dead show": "there is no such dead letter",
        "dead replay": "a message failed again, or there is no such dead letter",
        "dead purge": "there is no such dead letter, or the deletion was not confirmed",
        "store": "the file has faults",
        "store check": "the file has faults",
        "status": "the program is not ready",
        "tap": "the program ended before --count actions",
    ]

    private var meaning: String {
        switch self {
        case .done: "done"
        case .notAsExpected:
            "a message was not handled or not published, a script failed, or the output differs from --expect; a URL was "
                + "refused, was cancelled or has no route; explain: no plugin would be called; test: a test failed; connect: a line was not sent, "
                + "or the server closed before --count messages; store check: the file has faults"
        case .usage: "the arguments are invalid"
        case .invalidConfiguration: "the configuration, or the body to send, is invalid"
        case .unreadableFile: "a file, or stdin, cannot be read"
        case .unavailable:
            "a source or plugin could not start, or a source gave up; subscribe, publish, request, connect: the server "
                + "cannot be reached, or the connection broke"
        case .cannotListen:
            "the system has too few threads, file descriptors or memory; run, serve: a chat cannot listen: the port is in "
                + "use, or the address or certificate is unusable"
        case .outputFailed: "output could not be written"
        case .timeout: "--timeout expired first"
        case .protocolBroken:
            "the server violated the protocol, sent an unacceptable message, or does not support WebSocket"
        case .refused:
            "the server, the broker or a proxy refused access, or the broker denied a message"
        case .drainIncomplete: "arrivals were abandoned, or a call had not returned"
        case .notSecured: "TLS failed: the server's certificate is not trusted, or is for another host"
        case .closedWithError: "the server closed with an error code"
        case .deadLettersLost: "dead letters were lost with the process; --outcomes writes them to stdout"
        case .interrupted:
            "a second SIGINT; subscribe, publish, request, connect, bridge, send, dead replay: a SIGINT before the end"
        case .terminated:
            "a second SIGTERM; subscribe, publish, request, connect, bridge, send, dead replay: a SIGTERM before the end"
        }
    }
}

extension CommandStatus {
    /// Creates the exit status for a command whose connection to a broker or server failed.
    init(connection error: any Error) {
        switch (error as? WebSocketChatError)?.disconnectReason {
        case .refused?, .proxyRefused?: self = .refused
        case .tlsFailed?: self = .notSecured
        case .protocolViolation?: self = .protocolBroken
        case .closed?: self = .closedWithError
        case .unreachable?, .notPrepared?, .lost?, nil:
            self = (error as? MQTTPushError).map { CommandStatus($0) } ?? .unavailable
        }
    }

    /// Creates the exit status for a command whose connection to a broker failed.
    init(_ error: MQTTPushError) {
        switch error.code {
        case .untrustedCertificate, .wrongHost, .expiredCertificate, .tlsFailed, .unusableFile: self = .notSecured
        case .badCredentials, .certificateRefused, .preSharedKeyRefused, .notAuthorized, .webSocketRefused,
            .proxyRefused:
            self = .refused
        default: self = .unavailable
        }
    }

    /// Creates the exit status for a command whose store cannot be opened, read or written.
    init(_ error: StoreError) {
        switch error.code {
        case .inUse: self = .unavailable
        case .full: self = .outputFailed
        default: self = .unreadableFile
        }
    }

    /// Creates the exit status for a command whose message was not published, or whose request got no reply.
    init(_ error: MQTTPublishError) {
        switch error.code {
        case .denied: self = .refused
        case .timeout: self = .timeout
        case .invalidMessage, .tooLarge, .unsupported, .expired: self = .notAsExpected
        default: self = .unavailable
        }
    }
}

extension Error {
    /// The error in the words of a command that connects to one server or runs one page: without the name of a source,
    /// which the user has not chosen.
    var commandText: String {
        switch self {
        case let error as MQTTPushError: error.coded(error.detail)
        case let error as MQTTPublishError: error.coded(error.detail)
        case let error as WebSocketChatError: error.coded(error.detail)
        case let error as JSBridgeError: error.coded(error.detail)
        default: "\(self)"
        }
    }
}

/// The reason why a command failed, and its exit status.
struct CommandFailure: Error, Sendable, CustomStringConvertible {
    /// The exit status.
    let status: CommandStatus
    /// The errors, one per line.
    let description: String

    /// - Parameters:
    ///   - status: The exit status.
    ///   - lines: The errors, one per line.
    init(_ status: CommandStatus, _ lines: String) {
        self.status = status
        description = lines
    }

    /// Creates a failure from an error that occurred while setting up a configuration.
    init(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case is NamedFileError: self.init(.unreadableFile, "\(error)")
        case is ValidationError: self.init(.usage, "\(error)")
        case is OutputFailure: self.init(.outputFailed, "\(error)")
        case let error as StoreError: self.init(CommandStatus(error), "\(error)")
        case let error as JSBridgeError where error.code == .invalidConfiguration:
            self.init(.invalidConfiguration, "\(error)")
        case let error as WebSocketChatError where error.code == .invalidConfiguration:
            self.init(.invalidConfiguration, "\(error)")
        case is ConfigurationError, is BridgeConfigurationError: self.init(.invalidConfiguration, "\(error)")
        default: self.init(.unavailable, "\(error)")
        }
    }

    /// Creates a failure from the error of a source that gave up while the program was running.
    init(givingUp error: any Error) {
        let cannotListen =
            (error as? WebSocketChatError)?.code == .notListening
            || (error as? BrowserBridgeError)?.code == .notListening
        self.init(cannotListen ? .cannotListen : .unavailable, "\(error)")
    }
}

/// A subcommand that reports its errors on stderr, one line each.
protocol ReportingCommand: DiagnosingCommand, Sendable {
    /// Does the command's work and returns the exit status. All diagnostics are written out after this method returns.
    func perform() async throws -> CommandStatus
}

extension ReportingCommand {
    func run() async throws {
        let status: CommandStatus
        do {
            status = try await perform()
        } catch {
            let failure = CommandFailure(error)
            for line in failure.description.split(separator: "\n") {
                // An argument that only proves wrong later is still an error of the arguments.
                DiagnosticOutput.shared.report(String(line), evenIfQuiet: failure.status == .usage)
            }
            status = failure.status
        }
        await DiagnosticOutput.shared.flush()
        throw status.code
    }
}

extension ValidationError {
    /// Returns the value of an option. If the value is invalid, the reason is thrown as a `ValidationError`.
    ///
    /// - Parameter option: The name of the option, which starts the error message. If `nil`, the message contains no
    ///   name.
    static func checked<Value>(_ option: String? = nil, _ make: () throws -> Value) throws(ValidationError) -> Value {
        do {
            return try make()
        } catch {
            let detail = (error as? MQTTPushError)?.detail ?? (error as? WebSocketChatError)?.detail ?? "\(error)"
            throw ValidationError(option.map { "\($0): \(detail)" } ?? detail)
        }
    }
}
