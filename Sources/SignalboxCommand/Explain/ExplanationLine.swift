import MQTTPush
import NavigationChain
import Signalbox
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// The explanation of a message or link, as `explain` prints it.
struct ExplanationLine {
    /// The link, if one is explained.
    var link: InputLine?
    /// The navigation chain's verdict on the link.
    var navigation: NavigationVerdict?
    private let message: ExplainedMessage?
    private let steps: [ExplanationStep]
    private let verdict: ExplanationVerdict

    /// - Parameters:
    ///   - explanation: The explanation of the message's arrival.
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

    /// One JSON object with a newline: for a link, `url` or `input`; where known, `source`, `envelope`, `action`, `id`,
    /// the facts that `run --outcomes` prints, `route` and `body`; `verdict` and `steps`; for a link, `navigation`.
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

    /// Lines for a terminal: the properties of the message, one line for each stage with the mark `ok` or `no`, the
    /// navigation chain's decision, and the verdict.
    var terminalLines: [UInt8] {
        var rows: [Row] = []
        if let link { rows.append(Row("url", url?.text ?? link.shown)) }
        rows.append(Row("source", message?.source.name.text))
        if let push = message?.arrival.origin.facts as? PushFacts { rows.append(Row("topic", push.topic)) }
        if let chat = message?.arrival.origin.facts as? ChatFacts { rows.append(Row("principal", chat.principal)) }
        rows.append(Row("route", message?.route))
        rows.append(Row("action", action?.name.text))
        rows.append(Row("id", action?.senderID))
        // Not named `body`, because a stage has that name.
        rows.append(Row("content", action.map { TerminalText.body(body(of: $0)) }))
        rows += steps.map { Row($0.stage.description, $0.detail, passes: $0.passes) }
        if let navigation {
            let decision = "\(navigation.policy.rawValue) by \(navigation.decider): \(navigation.reason)"
            rows.append(Row("navigation", decision))
        }
        let (code, detail) = (verdict.code, verdict.detail)
        rows.append(Row("verdict", detail.isEmpty ? code : "\(code): \(detail)", passes: isCalled))
        return rows.flatMap(\.line)
    }

    private var url: URLText? {
        guard let text = try? link?.text() else { return nil }
        return try? URLText(text)
    }

    /// Returns the body from which a plugin's `Info` is decoded, including a route's captures.
    private func body(of action: Action) -> RawBody {
        guard let raw = try? action.body.decode(RawBody.self), raw.kind != .json else {
            return RawBody(bytes: action.body.json, kind: .json)
        }
        return raw
    }
}

extension ExplanationLine {
    /// One line for a terminal.
    private struct Row {
        let mark: String
        let name: String
        let text: String?

        init(_ name: String, _ text: String?, passes: Bool? = nil) {
            mark = passes.map { $0 ? "ok" : "no" } ?? ""
            self.name = name
            self.text = text
        }

        /// The line, or nothing if there is no text.
        var line: [UInt8] {
            guard let text else { return [] }
            return TerminalText.line([
                TerminalText.column(mark, width: 2), TerminalText.column(name, width: 14), LineEscape.escaped(text),
            ])
        }
    }
}

extension JSONObject {
    /// Adds a list of objects with `stage`, `passes` and `detail`.
    mutating func add(_ name: String, _ steps: [ExplanationStep]) {
        add(name, objects: steps) { step, object in
            object.add("stage", step.stage.description)
            object.add("passes", step.passes)
            object.add("detail", step.detail)
        }
    }
}
