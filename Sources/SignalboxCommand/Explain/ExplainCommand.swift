import ArgumentParser
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
