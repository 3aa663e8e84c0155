import AppScheme
import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// What would become of a message or link, as `explain` shows it.
struct ExplanationLine {
    /// The link, when one is asked about.
    var link: InputLine?
    /// What the navigation chain says of it.
    var navigation: VerdictLine?
    /// Whether the plugin would be called.
    let isCalled: Bool
    private let message: ExplainedMessage?
    private let action: Action?
    private let envelope: String?
    private let steps: [ExplainedStage]
    private let code: String
    private let detail: String

    /// - Parameters:
    ///   - explanation: of the message's arrival.
    ///   - plugins: those that it could be for.
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

    /// A link that no source takes.
    init(untaken rejection: Outcome.Rejection) {
        (message, action, envelope) = (nil, nil, nil)
        isCalled = false
        code = rejection.reason.description
        detail = rejection.detail
        steps = [ExplainedStage(unreadable: rejection.detail)]
    }

    /// One JSON object with a newline: of a link `url` or `input`; `source`, `envelope`, `action`, `id`, the facts that
    /// `run --outcomes` shows, `route`, `body`, where known; `verdict`, `steps`, and of a link `navigation`.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        if let link {
            if let url { object.add("url", url.text) } else { object.add(link) }
        }
        object.add("source", message?.source.name.text)
        object.add("envelope", envelope)
        object.add("action", action?.name.text)
        object.add("id", senderID)
        switch message?.arrival.origin.facts {
        case let push as PushFacts: object.add("topic", push.topic)
        case let link as LinkFacts: object.add(link)
        case let chat as ChatFacts: object.add(chat)
        default: break
        }
        object.add("route", message?.route)
        if let action { object.add(body(of: action)) }
        var verdict = JSONObject()
        verdict.add("code", code)
        verdict.add("detail", detail)
        object.add("verdict", json: verdict.closed)
        object.add("steps", stages: steps)
        if let navigation {
            var decision = JSONObject()
            navigation.addDecision(to: &decision)
            object.add("navigation", json: decision.closed)
        }
        return object.line
    }

    /// Lines for a person: what is known of the message, then one for each stage with `ok` or `no` before it, the
    /// navigation chain's decision, and the verdict.
    var terminalLines: [UInt8] {
        var rows: [Row] = []
        if let link { rows.append(Row("url", url?.text ?? link.shown)) }
        rows.append(Row("source", message?.source.name.text))
        if let push = message?.arrival.origin.facts as? PushFacts { rows.append(Row("topic", push.topic)) }
        if let chat = message?.arrival.origin.facts as? ChatFacts { rows.append(Row("principal", chat.principal)) }
        rows.append(Row("route", message?.route))
        rows.append(Row("action", action?.name.text))
        rows.append(Row("id", senderID))
        // Under another name than the stage of that name.
        rows.append(Row("content", action.map { TerminalText.body(body(of: $0)) }))
        rows += steps.map { Row($0.stage, $0.detail, passes: $0.passes) }
        if let navigation { rows.append(Row("navigation", navigation.decisionText)) }
        rows.append(Row("verdict", detail.isEmpty ? code : "\(code): \(detail)", passes: isCalled))
        return rows.flatMap(\.line)
    }

    private var url: URLText? {
        guard let text = try? link?.text() else { return nil }
        return try? URLText(text)
    }

    private var senderID: String? {
        guard let action, action.idKey != .assigned else { return nil }
        return action.id.text
    }

    /// The body that a plugin's `Info` is decoded from, a route's captures included.
    private func body(of action: Action) -> RawBody {
        guard let raw = try? action.body.decode(RawBody.self), raw.kind != .json else {
            return RawBody(bytes: action.body.json, kind: .json)
        }
        return raw
    }
}

extension ExplanationLine {
    /// One line for a person.
    private struct Row {
        let mark: String
        let name: String
        let text: String?

        init(_ name: String, _ text: String?, passes: Bool? = nil) {
            mark = passes.map { $0 ? "ok" : "no" } ?? ""
            self.name = name
            self.text = text
        }

        /// Nothing when there is nothing to say.
        var line: [UInt8] {
            guard let text else { return [] }
            return TerminalText.line([
                TerminalText.column(mark, width: 2), TerminalText.column(name, width: 14), LineEscape.escaped(text),
            ])
        }
    }
}

/// What one stage says about a message, as the commands show it.
struct ExplainedStage {
    let stage: String
    let passes: Bool
    let detail: String

    /// - Parameter addition: what else is known, behind the step's own words.
    init(_ step: ExplanationStep, addition: String? = nil) {
        stage = step.stage.description
        passes = step.passes
        detail = addition.map { "\(step.detail); \($0)" } ?? step.detail
    }

    /// The envelope that could not be read.
    init(unreadable detail: String) {
        stage = ExplanationStage.envelope.description
        passes = false
        self.detail = detail
    }
}

extension JSONObject {
    /// A list of objects with `stage`, `passes` and `detail`.
    mutating func add(_ name: String, stages: [ExplainedStage]) {
        add(name, objects: stages) { stage, object in
            object.add("stage", stage.stage)
            object.add("passes", stage.passes)
            object.add("detail", stage.detail)
        }
    }
}
