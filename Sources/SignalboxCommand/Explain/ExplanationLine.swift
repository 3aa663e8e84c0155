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
    /// Whether the plugin would be called.
    let isCalled: Bool
    private let message: ExplainedMessage?
    private let action: Action?
    private let envelope: String?
    private let steps: [ExplainedStage]
    private let code: String
    private let detail: String

    /// - Parameters:
    ///   - explanation: The explanation of the message's arrival.
    ///   - plugins: The plugins of the configuration.
    init(_ message: ExplainedMessage, _ explanation: Explanation, plugins: [PluginSection]) {
        self.message = message
        let action = try? message.arrival.reading.get()
        self.action = action
        envelope = explanation.envelope.description
        let key = action.flatMap { message.orderKey(of: $0, plugins: plugins) }
        steps = explanation.steps.map { step in
            ExplainedStage(step, addition: step.stage == .lane ? key : nil)
        }
        isCalled = explanation.verdict.isCalled
        code = explanation.verdict.code
        detail = explanation.verdict.detail
    }

    /// Creates the explanation of a link that no source accepts.
    init(unmatched rejection: Outcome.Rejection) {
        (message, action, envelope) = (nil, nil, nil)
        isCalled = false
        code = rejection.reason.description
        detail = rejection.detail
        steps = [ExplainedStage(unreadable: rejection.detail)]
    }

    /// One JSON object with a newline: for a link, `url` or `input`; where known, `source`, `envelope`, `action`, `id`,
    /// the facts that `run --outcomes` prints, `route` and `body`; `verdict` and `steps`; for a link, `navigation`.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        if let link {
            if let url { object.add("url", url.text) } else { object.add(link) }
        }
        object.add("source", message?.source.name.text)
        object.add("envelope", envelope)
        object.add("action", action?.name.text)
        object.add("id", action?.senderID)
        object.add(message?.arrival.origin.facts)
        object.add("route", message?.route)
        if let action { object.add(body(of: action)) }
        object.add("verdict") { object in
            object.add("code", code)
            object.add("detail", detail)
        }
        object.add("steps", stages: steps)
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
        rows += steps.map { Row($0.stage, $0.detail, passes: $0.passes) }
        if let navigation {
            let decision = "\(navigation.policy.rawValue) by \(navigation.decider): \(navigation.reason)"
            rows.append(Row("navigation", decision))
        }
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

/// The result of one stage for a message, as the commands print it.
struct ExplainedStage {
    let stage: String
    let passes: Bool
    let detail: String

    /// - Parameter addition: Text to append to the step's detail.
    init(_ step: ExplanationStep, addition: String? = nil) {
        stage = step.stage.description
        passes = step.passes
        detail = addition.map { "\(step.detail); \($0)" } ?? step.detail
    }

    /// Creates the stage of an envelope that could not be read.
    init(unreadable detail: String) {
        stage = ExplanationStage.envelope.description
        passes = false
        self.detail = detail
    }
}

extension JSONObject {
    /// Adds a list of objects with `stage`, `passes` and `detail`.
    mutating func add(_ name: String, stages: [ExplainedStage]) {
        add(name, objects: stages) { stage, object in
            object.add("stage", stage.stage)
            object.add("passes", stage.passes)
            object.add("detail", stage.detail)
        }
    }
}
