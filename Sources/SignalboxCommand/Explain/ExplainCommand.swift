import ArgumentParser
import Foundation
import NavigationChain
import SignalboxCore
import SignalboxRoutes

/// `signalbox explain --payload JSON` and `signalbox explain --url URL`.
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Says what would become of one message or link, stage by stage. Nothing is run.",
        discussion: """
            One JSON object: source, envelope, action, id, route, body, verdict, steps; of a URL also navigation. No \
            plugin is called, no file of a plugin is opened, no broker is connected and no script is run.

            EXAMPLE
              signalbox explain --url myapp://product/42 --config examples/links/links.yaml
              signalbox explain --payload '{"action":"payment"}' --config examples/tour/page.yaml

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .outputFailed,
            ]))
            """
    )

    @Option(help: ArgumentHelp("The message as it would come; @FILE is a file, '-' stdin.", valueName: "text"))
    var payload: String?

    @Option(help: ArgumentHelp("A link in place of a message; '-' reads it from stdin.", valueName: "url"))
    var url: String?

    @Option(help: ArgumentHelp("Which source of the configuration brings it.", valueName: "name"))
    var source: String?

    @Option(help: ArgumentHelp("The configuration.", valueName: "file"))
    var config: String

    @Option(help: "Of a broker's message: the topic it was published to.")
    var topic: String?

    @Option(help: "Of a broker's message: the quality of service of its delivery, 0 or 1; 1 without it.")
    var qos: Int?

    @Flag(help: "Of a broker's message: the broker had stored it.")
    var retained = false

    @Option(help: "Of a page's or chat's message: the origin, such as https://app.example; none without it.")
    var origin: String?

    @Option(help: "Of a page's message: which frame: \(FrameRole.allCases.map(\.rawValue).joined(separator: ", ")).")
    var frame: FrameRole?

    @Option(help: "Of a page's message: the handler it is posted to; without it the message names its action.")
    var handler: String?

    @Option(help: "Of a chat's message: who the client is, one of the configuration's principals; nobody without it.")
    var principal: String?

    @Flag(help: "Of a chat's or feed's message: it is a binary one.")
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
            throw ValidationError("\(option) is about a message; a URL has nothing of the kind")
        default: throw ValidationError("give a message with --payload, or a link with --url")
        }
    }

    private func facts() throws -> MessageFacts {
        guard (0...1).contains(qos ?? 1) else { throw ValidationError("--qos is 0 or 1; QoS 2 is never subscribed") }
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

/// What `explain` was asked for.
struct ExplainRequest: Sendable {
    /// What is explained.
    enum Subject: Sendable {
        case message(MessageInput, MessageFacts)
        case link(MessageInput)
    }

    let subject: Subject
    /// Which source brings it.
    let source: String?
    /// The configuration whose plugins would be called.
    let config: String
}

/// One message or link explained, from its bytes to the exit status.
enum ExplainProgram {
    /// Explains it, and says whether its plugin would be called. Its diagnostics are out when it returns.
    static func status(of request: ExplainRequest) async -> CommandStatus {
        do {
            let line = try await line(for: request)
            let output = StandardOutput()
            try await output.write(output.isTerminal ? line.terminalLines : line.jsonLine)
            await DiagnosticOutput.shared.flush()
            return line.isCalled ? .done : .notAsExpected
        } catch let failure as OutputFailure {
            return await CommandRefusal(.outputFailed, "\(failure)").told()
        } catch {
            return await CommandRefusal(error).told()
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

/// What an adapter would know about a message besides its bytes, as far as the user said.
struct MessageFacts: Sendable {
    var topic: TopicName?
    var qos: Int?
    var isRetained = false
    var origin: WebOrigin?
    var frame: FrameRole?
    /// What a page posts the message to.
    var handler: ActionName?
    /// Who the client of a chat is.
    var principal: String?
    /// Whether the message of a chat or feed is a binary one.
    var isBinary = false

    /// The options that were given and are about messages of a broker alone.
    var brokerOptions: [String] {
        [
            topic == nil ? nil : "--topic", qos == nil ? nil : "--qos", isRetained ? "--retained" : nil,
        ].compactMap { $0 }
    }

    /// The options that were given and are about messages of a page alone.
    var pageOptions: [String] {
        [frame == nil ? nil : "--frame", handler == nil ? nil : "--handler"].compactMap { $0 }
    }

    /// The options that were given and are about messages of a page, or of a client of a chat.
    var originOptions: [String] { origin == nil ? [] : ["--origin"] }

    /// The options that were given and are about messages of a client of a chat alone.
    var chatOptions: [String] { principal == nil ? [] : ["--principal"] }

    /// The options that were given and are about messages of a chat or feed.
    var frameOptions: [String] { isBinary ? ["--binary"] : [] }

    /// All of them that were given.
    var options: [String] { brokerOptions + pageOptions + originOptions + chatOptions + frameOptions }
}

/// Where the message or link is that `explain` is asked about.
enum MessageInput: Sendable, Hashable {
    /// Written as an argument.
    case text(String)
    /// In a file, relative to the working directory.
    case file(String)
    /// Read from stdin up to its end.
    case standardInput

    /// - Parameter argument: what `--payload` says.
    init(payload argument: String) {
        if argument == "-" {
            self = .standardInput
        } else {
            self = argument.hasPrefix("@") ? .file(String(argument.dropFirst())) : .text(argument)
        }
    }

    /// - Parameter argument: what `--url` says.
    init(url argument: String) {
        self = argument == "-" ? .standardInput : .text(argument)
    }

    /// All bytes, which may be more than a message may have.
    ///
    /// - Throws: ``CommandRefusal`` when they cannot be read, or are more than ``FileContent/payloadLimit``.
    func bytes() async throws(CommandRefusal) -> [UInt8] {
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
            throw CommandRefusal(.unreadableFile, "\(name): cannot be read: \(error)")
        }
    }

    /// The link; from stdin without the end of its line.
    ///
    /// - Throws: ``CommandRefusal`` when it cannot be read or is no text.
    func link() async throws(CommandRefusal) -> String {
        var bytes = try await bytes()
        if self == .standardInput, bytes.last == UInt8(ascii: "\n") {
            bytes.removeLast()
            if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandRefusal(.invalidConfiguration, "stdin: the URL is not UTF-8")
        }
        return text
    }
}
