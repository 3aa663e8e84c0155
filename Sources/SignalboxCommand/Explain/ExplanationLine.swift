import MQTTPush
import NavigationChain
import Signalbox
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// Formats the explanation of a message or link for the output of the command `explain`.
struct ExplanationLine {
    /// The link, or `nil` if a message is explained.
    var link: InputLine?
    /// The verdict of the navigation chain on the link.
    var navigation: NavigationVerdict?
    private let message: ExplainedMessage?
    private let steps: [ExplanationStep]
    private let verdict: ExplanationVerdict

    /// - Parameters:
    ///   - explanation: The explanation of the arrival of the message.
    ///   - plugins: The plugins of the configuration.
    init(_ message: ExplainedMessage, _ explanation: Explanation, plugins: [PluginSection]) {
        self.message = message
        verdict = explanation.verdict
        let key = message.orderKey(plugins: plugins)
        steps = explanation.steps.map { step in
            guard let key, step.stage == .lane else { return step }
            return ExplanationStep(.lane, passes: step.passes, "\(step.detail); \(key)")
        }
    }

    /// Creates the explanation of a link that no source accepts.
    init(unmatched rejection: Outcome.Rejection) {
        message = nil
        verdict = ExplanationVerdict(.rejected(rejection))
        steps = [ExplanationStep(.envelope, passes: false, rejection.detail)]
    }

    /// Whether the plugin would be called.
    var isCalled: Bool { verdict.isCalled }

    private var action: Action? { message?.action }

    /// The explanation as one JSON object with a newline. An explanation of a link starts with `url` or `input`. Where
    /// they are known, the members `source`, `envelope`, `action`, `id`, the facts that `run --outcomes` prints,
    /// `route` and `body` follow. The members `verdict` and `steps` are always present. An explanation of a link ends
    /// with `navigation` if there is a navigation chain.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        if let link {
            if let url { object.add("url", url.text) } else { object.add(link) }
        }
        object.add("source", message?.source.name.text)
        object.add("envelope", message?.arrival.envelope.description)
        object.add("action", action?.name.text)
        object.add("id", action?.senderID)
        object.add(message?.arrival.origin.facts)
        object.add("route", message?.route)
        if let action { object.add(body(of: action)) }
        object.add("verdict") { object in
            object.add("code", verdict.code)
            object.add("detail", verdict.detail)
        }
        object.add("steps", steps)
        if let navigation { object.add("navigation") { $0.add(navigation) } }
        return object.line
    }

    /// The explanation as lines for a terminal. The properties of the message come first. One line for each stage
    /// follows, with the mark `ok` or `no`. The last lines are the decision of the navigation chain and the verdict.
    var terminalLines: [UInt8] {
        let facts = message?.arrival.origin.facts
        var lines: [UInt8] = []
        /// Adds a line, unless there is no text.
        func add(_ name: String, _ text: String?, passes: Bool? = nil) {
            guard let text else { return }
            let mark = passes.map { $0 ? "ok" : "no" } ?? ""
            lines += TerminalText.line([
                TerminalText.column(mark, width: 2), TerminalText.column(name, width: 14), LineEscape.escaped(text),
            ])
        }
        add("url", link.map { url?.text ?? $0.shown })
        add("source", message?.source.name.text)
        add("topic", (facts as? PushFacts)?.topic)
        add("principal", (facts as? ChatFacts)?.principal)
        add("route", message?.route)
        add("action", action?.name.text)
        add("id", action?.senderID)
        // The name is not `body`, because a stage already has that name.
        add("content", action.map { TerminalText.body(body(of: $0)) })
        for step in steps { add(step.stage.description, step.detail, passes: step.passes) }
        add("navigation", navigation.map { "\($0.policy.rawValue) by \($0.decider): \($0.reason)" })
        let (code, detail) = (verdict.code, verdict.detail)
        add("verdict", detail.isEmpty ? code : "\(code): \(detail)", passes: isCalled)
        return lines
    }

    private var url: URLText? {
        guard let text = try? link?.text() else { return nil }
        return try? URLText(text)
    }

    /// Returns the body from which the `Info` of a plugin is decoded, including the captures of a route.
    private func body(of action: Action) -> RawBody {
        guard let raw = try? action.body.decode(RawBody.self), raw.kind != .json else {
            return RawBody(bytes: action.body.json, kind: .json)
        }
        return raw
    }
}

extension JSONObject {
    /// Adds a list of objects with the members `stage`, `passes` and `detail`.
    mutating func add(_ name: String, _ steps: [ExplanationStep]) {
        add(name, objects: steps) { step, object in
            object.add("stage", step.stage.description)
            object.add("passes", step.passes)
            object.add("detail", step.detail)
        }
    }
}
