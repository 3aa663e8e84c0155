import Foundation
import Logging
import Signalbox
import SignalboxCore
import SignalboxRoutes
import Synchronization
import Testing

@testable import SignalboxCommand
@testable import SignalboxCore

/// Chains with sources of several kinds, and messages for them.
enum StepFixture {
    static let sources = """
        sources:
          push: { mqtt: { broker: 'mqtt://h', client_id: a, topics: ['shop/{device}/{action}', { pattern: 'raw/{action}', payload: bytes }], publishing: {} } }
          page: { script: {} }
          desk: { chat: { port: 0, absent_origin: allowed, frames: { text: { action: say, payload: text } } } }
          links: { links: { routes: [ { pattern: 'myapp://{action}/{number:int}' } ], urls: ['myapp://a/1'] } }

        """

    /// Returns a configuration with one chain.
    ///
    /// - Parameters:
    ///   - steps: The steps, each without braces.
    ///   - keys: Further keys of the plugin. A semicolon stands for a comma within a value.
    static func text(_ steps: [String], _ keys: String = "order: none, max_concurrent: 100") -> String {
        """
        \(sources)plugins:
          - action: work
            use: chain
            steps:
        \(steps.map { "      - { \($0) }\n" }.joined())    from: [push, page, desk, links, internal]
            \(keys.split(separator: ", ").joined(separator: "\n    ").replacing(";", with: ","))
        """
    }

    static func configuration(_ steps: [String], _ keys: String = "order: none, max_concurrent: 100") throws
        -> RunConfiguration
    {
        try ConfigurationFixture.read(text(steps, keys), for: .plugins)
    }

    /// Returns the errors about a chain, each without the path of the plugin.
    static func problems(_ steps: [String], _ keys: String = "order: none, max_concurrent: 100") -> [String] {
        ConfigurationFixture.problems(text(steps, keys), for: .plugins)
    }

    /// Returns a message of the source `push`.
    static func message(
        _ body: String,
        in configuration: RunConfiguration,
        topic: String = "shop/till/work"
    ) throws -> ExplainedMessage {
        let explainer = ConfigurationExplainer(configuration: configuration, file: "f.yaml")
        var facts = MessageFacts()
        facts.topic = try TopicName(topic)
        let source = try explainer.source("push", for: facts)
        return try ExplainedMessage(Array(body.utf8), facts, of: source, in: configuration)
    }

    static func action(_ body: String, topic: String = "shop/till/work") throws -> Action {
        let configuration = try configuration(["use: log"])
        return try message(body, in: configuration, topic: topic).arrival.reading.get()
    }

    /// Hands messages of `push` to a chain, and returns their outcomes.
    ///
    /// - Parameter together: Whether the messages are submitted at once. If not, each waits for the outcome of the one before.
    static func outcomes(
        _ bodies: [String],
        _ steps: [String],
        _ keys: String = "order: none, max_concurrent: 100",
        together: Bool = true
    ) async throws -> [Outcome] {
        let found = try configuration(steps, keys)
        var builder = SupervisorBuilder(
            configuration: found,
            printing: nil,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        builder.grace = .seconds(600)
        let supervisor = try builder.supervisor(onOutcome: nil)
        let adapter = MessagesAdapter(try bodies.map { try message($0, in: found).arrival }, together: together)
        try supervisor.add(adapter)
        try await supervisor.run()
        return adapter.outcomes
    }

    /// Returns the outcome of one message, as text.
    static func outcome(_ body: String, _ steps: [String], _ keys: String = "order: none, max_concurrent: 100")
        async throws -> String
    {
        try await outcomes([body], steps, keys).first?.description ?? "none"
    }
}

/// Submits messages, and ends when all of them are settled.
final class MessagesAdapter: Adapter {
    private let arrivals: [Arrival]
    private let together: Bool
    private let settled = Mutex<[Outcome]>([])

    init(_ arrivals: [Arrival], together: Bool) {
        self.arrivals = arrivals
        self.together = together
    }

    var source: SourceName { "push" }
    var features: AdapterFeatures { .replies }
    var outcomes: [Outcome] { settled.withLock { $0 } }

    func run(into intake: any Intake) async {
        guard together else {
            for arrival in arrivals { await deliver(arrival, into: intake) }
            return
        }
        await withTaskGroup(of: Void.self) { group in
            for arrival in arrivals { group.addTask { await self.deliver(arrival, into: intake) } }
        }
    }

    private func deliver(_ arrival: Arrival, into intake: any Intake) async {
        let outcomes = await intake.deliver([arrival])
        settled.withLock { $0 += outcomes }
    }
}
