import ArgumentParser
import Foundation
import NavigationChain
import SignalboxCore
import SignalboxRoutes

/// `signalbox explain --payload JSON` and `signalbox explain --url URL`.
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Shows how one message or link would be handled, stage by stage. Runs nothing.",
        discussion: """
            One JSON object: source, envelope, action, id, route, body, verdict, steps; for a URL also navigation. The \
            command calls no plugin, opens no plugin's file, connects to no broker and runs no script.

            EXAMPLE
              signalbox explain --url myapp://product/42 --config examples/links/links.yaml
              signalbox explain --payload '{"action":"payment"}' --config examples/tour/page.yaml

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .outputFailed,
            ]))
            """
    )

    @Option(help: ArgumentHelp("The message; @FILE reads it from a file, '-' from stdin.", valueName: "text"))
    var payload: String?

    @Option(help: ArgumentHelp("A link instead of a message; '-' reads it from stdin.", valueName: "url"))
    var url: String?

    @Option(help: ArgumentHelp("The source of the message or link.", valueName: "name"))
    var source: String?

    @Option(help: ArgumentHelp("The configuration.", valueName: "file"))
    var config: String

    @Option(help: "For a broker's message: its topic.")
    var topic: String?

    @Option(help: "For a broker's message: its QoS, 0 or 1 (default 1).")
    var qos: Int?

    @Flag(help: "For a broker's message: it was retained.")
    var retained = false

    @Option(help: "For a page's or chat's message: the origin, such as https://app.example; default none.")
    var origin: String?

    @Option(help: "For a page's message: the frame: \(FrameRole.allCases.map(\.rawValue).joined(separator: ", ")).")
    var frame: FrameRole?

    @Option(help: "For a page's message: the handler it is posted to; without it, the message names its action.")
    var handler: String?

    @Option(help: "For a chat's message: the client's principal; required if the chat has principals.")
    var principal: String?

    @Flag(help: "For a chat's or feed's message: it is binary.")
    var binary = false

    func validate() throws {
        _ = try request()
    }

    func run() async throws {
        throw await ExplainProgram.status(of: try request()).code
    }

    private func request() throws -> ExplainRequest {
        ExplainRequest(subject: try subject(), source: source, config: config)
    }

    private func subject() throws -> ExplainRequest.Subject {
        let facts = try facts()
        switch (payload, url) {
        case (let payload?, nil): return .message(MessageInput(payload: payload), facts)
        case (nil, let url?):
            guard let option = facts.options.first else {
                return .link(MessageInput(url: url))
            }
            throw ValidationError("\(option) applies to a message, not to a URL")
        default: throw ValidationError("expected either a message (--payload) or a link (--url)")
        }
    }

    private func facts() throws -> MessageFacts {
        guard (0...1).contains(qos ?? 1) else {
            throw ValidationError("--qos must be 0 or 1; sources never subscribe with QoS 2")
        }
        return MessageFacts(
            topic: try topic.map { text in
                try checked("--topic") { () throws(TopicError) in try TopicName(text) }
            },
            qos: qos,
            isRetained: retained,
            origin: try origin.map { text in
                try checked("--origin") { () throws(URLTextError) in try WebOrigin(text) }
            },
            frame: frame,
            handler: try handler.map { text in
                try checked("--handler") { () throws(NameError) in try ActionName(text) }
            },
            principal: principal,
            isBinary: binary
        )
    }

    private func checked<Value, Failure: Error>(
        _ option: String,
        _ make: () throws(Failure) -> Value
    ) throws -> Value {
        do {
            return try make()
        } catch {
            throw ValidationError("\(option): \(error)")
        }
    }
}

/// The arguments of `explain`.
struct ExplainRequest: Sendable {
    /// The message or link to explain.
    enum Subject: Sendable {
        case message(MessageInput, MessageFacts)
        case link(MessageInput)
    }

    let subject: Subject
    /// The name of the source that delivers the message or link.
    let source: String?
    /// The path of the configuration whose plugins would be called.
    let config: String
}

/// The `explain` command, from reading the message to the exit status.
enum ExplainProgram {
    /// Prints the explanation. Returns `done` if the plugin would be called. All diagnostics are written then.
    static func status(of request: ExplainRequest) async -> CommandStatus {
        do {
            let line = try await line(for: request)
            let output = StandardOutput()
            try await output.write(output.isTerminal ? line.terminalLines : line.jsonLine)
            await DiagnosticOutput.shared.flush()
            return line.isCalled ? .done : .notAsExpected
        } catch let failure as OutputFailure {
            return await CommandFailure(.outputFailed, "\(failure)").report()
        } catch {
            return await CommandFailure(error).report()
        }
    }

    private static func line(for request: ExplainRequest) async throws -> ExplanationLine {
        let configuration = try ConfigurationFile.read(request.config, for: .plugins)
        let explainer = ConfigurationExplainer(configuration, file: request.config)
        switch request.subject {
        case .message(let input, let facts):
            let source = try explainer.source(request.source)
            return try explainer.line(about: try await input.bytes(), facts, of: source)
        case .link(let input): return try await explainer.line(about: try await input.link(), of: request.source)
        }
    }
}

/// The properties of a message that an adapter would supply with its bytes, as given by the user.
struct MessageFacts: Sendable {
    var topic: TopicName?
    var qos: Int?
    var isRetained = false
    var origin: WebOrigin?
    var frame: FrameRole?
    /// The handler that a page posts the message to.
    var handler: ActionName?
    /// The principal of the chat client.
    var principal: String?
    /// Whether the message of a chat or feed is binary.
    var isBinary = false

    /// The given options that apply only to broker messages.
    var brokerOptions: [String] {
        [
            topic == nil ? nil : "--topic", qos == nil ? nil : "--qos", isRetained ? "--retained" : nil,
        ].compactMap { $0 }
    }

    /// The given options that apply only to page messages.
    var pageOptions: [String] {
        [frame == nil ? nil : "--frame", handler == nil ? nil : "--handler"].compactMap { $0 }
    }

    /// The given options that apply only to messages of pages and chat clients.
    var originOptions: [String] { origin == nil ? [] : ["--origin"] }

    /// The given options that apply only to messages of chat clients.
    var chatOptions: [String] { principal == nil ? [] : ["--principal"] }

    /// The given options that apply only to messages of chats and feeds.
    var frameOptions: [String] { isBinary ? ["--binary"] : [] }

    /// All given options.
    var options: [String] { brokerOptions + pageOptions + originOptions + chatOptions + frameOptions }
}

/// The source of the message or link for `explain`.
enum MessageInput: Sendable, Hashable {
    /// A command-line argument.
    case text(String)
    /// The path of a file, relative to the working directory.
    case file(String)
    /// The content of stdin up to its end.
    case standardInput

    /// - Parameter argument: The value of `--payload`.
    init(payload argument: String) {
        if argument == "-" {
            self = .standardInput
        } else {
            self = argument.hasPrefix("@") ? .file(String(argument.dropFirst())) : .text(argument)
        }
    }

    /// - Parameter argument: The value of `--url`.
    init(url argument: String) {
        self = argument == "-" ? .standardInput : .text(argument)
    }

    /// Returns all bytes, even if they exceed the limit of a message.
    ///
    /// - Throws: ``CommandFailure`` if they cannot be read, or exceed ``FileContent/payloadLimit``.
    func bytes() async throws(CommandFailure) -> [UInt8] {
        let name: String
        let read: Result<[UInt8], FileReadError>
        switch self {
        case .text(let text): return Array(text.utf8)
        case .file(let path):
            name = path
            read = await FileContent.waiting { FileContent.read(path, limit: FileContent.payloadLimit) }
        case .standardInput:
            name = "stdin"
            read = await FileContent.waiting { FileContent.read(STDIN_FILENO, limit: FileContent.payloadLimit) }
        }
        do throws(FileReadError) {
            return try read.get()
        } catch {
            throw CommandFailure(.unreadableFile, "\(name): cannot be read: \(error)")
        }
    }

    /// Returns the link. Input from stdin is read without its line ending.
    ///
    /// - Throws: ``CommandFailure`` if the link cannot be read or is not UTF-8.
    func link() async throws(CommandFailure) -> String {
        var bytes = try await bytes()
        if self == .standardInput, bytes.last == UInt8(ascii: "\n") {
            bytes.removeLast()
            if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(.invalidConfiguration, "stdin: the URL is not UTF-8")
        }
        return text
    }
}
