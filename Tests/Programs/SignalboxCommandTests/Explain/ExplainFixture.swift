import ArgumentParser
import Foundation
import NavigationChain
import SignalboxCore
import SignalboxRoutes

@testable import SignalboxCommand

/// Explains, in this process, how a configuration treats messages.
enum ExplainFixture {
    /// A configuration with a source of each kind, and plugins with every option.
    static let text = """
        sources:
          push:
            mqtt:
              broker: mqtt://127.0.0.1:1883
              client_id: explain
              topics:
                - pattern: push/{device}/{action}
                - { pattern: 'plain/{room}', payload: text, action: temperature }
                - { pattern: 'raw/{room}', payload: bytes, action: temperature }
                - { pattern: 'count/{n:int}', action: temperature }
                - { pattern: apple, envelope: apns }
                - { pattern: events, envelope: cloud_events }
            rate_limit: { per_second: 5, burst: 10 }
          page:
            script: {}
          shop:
            links:
              routes: [ { pattern: 'myapp://product/{number:int}', action: open } ]
          other:
            links:
              routes:
                - { pattern: 'other://do/{action}' }
                - { pattern: 'myapp://product/{number:int}', action: loading }
        plugins:
          - action: loading
            use: print
            from: [ { source: push, topic: push/+/loading, retained: false }, { source: page, origin: 'https://app.example' } ]
          - action: temperature
            use: file
            path: actions.jsonl
            from: [ { source: push } ]
          - action: open
            use: print
            from: [ { source: shop, scheme: myapp } ]
          - action: order
            use: file
            path: actions.jsonl
            from: [ { source: push }, { source: page } ]
            order: { key: order.customer }
            max_concurrent: 4
            timeout: 5s
            retry: { attempts: 3, first_delay: 1s, longest_delay: 9s }
            circuit_breaker: { failures: 5, open_for: 30s }
        limits: { message_bytes: 200 }
        navigation:
          chain:
            - { deep_links: [myapp] }
            - { hosts: [shop.example] }
          fallback: cancel
        """

    static func explainer(_ text: String = text) throws -> ConfigurationExplainer {
        ConfigurationExplainer(configuration: try ConfigurationFixture.read(text, for: .plugins), file: "f.yaml")
    }

    static func line(
        _ payload: String,
        of source: String = "push",
        topic: String? = nil,
        _ change: (inout MessageFacts) throws -> Void = { _ in }
    ) throws -> ExplanationLine {
        var facts = MessageFacts()
        facts.topic = try topic.map { try TopicName($0) }
        try change(&facts)
        let explainer = try explainer()
        return try explainer.line(about: Array(payload.utf8), facts, of: explainer.source(source, for: facts))
    }

    /// - Parameter text: The configuration.
    static func line(url: String, of source: String? = nil, in text: String = text) async throws -> ExplanationLine {
        try await explainer(text).line(about: url, of: source)
    }
}

extension ExplanationLine {
    var json: String { String(decoding: jsonLine.dropLast(), as: UTF8.self) }

    var shown: [String] {
        String(decoding: terminalLines, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Returns the members of the JSON line.
    func object() throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: Data(jsonLine)) as? [String: Any] ?? [:]
    }

    func verdict() throws -> [String: String] { try object()["verdict"] as? [String: String] ?? [:] }

    /// Returns the stages that do not pass.
    func stopping() throws -> [String] {
        let steps = try object()["steps"] as? [[String: Any]] ?? []
        return steps.filter { $0["passes"] as? Bool == false }.compactMap { $0["stage"] as? String }
    }
}
