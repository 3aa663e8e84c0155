import HTTPActions
import MQTTPush
import NavigationChain
import Signalbox
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// Formats the explanation of a message or link for the output of `explain`.
struct ExplanationLine {
    /// The number of the dead letter that is explained, or `nil` for another message.
    var number: Int64?
    /// The link, or `nil` if this explains a message.
    var link: InputLine?
    /// The navigation chain's verdict on the link.
    var navigation: NavigationVerdict?
    private let message: ExplainedMessage?
    let steps: [ExplanationStep]
    let verdict: ExplanationVerdict
    /// What the steps of the plugin would do, or `nil` if it has none or would not be called.
    let chain: ChainExplanation?

    /// - Parameters:
    ///   - message: The message or link.
    ///   - explanation: The explanation of how the message is treated.
    ///   - plugins: The configured plugins.
    ///   - limits: The configured limits.
    init(
        _ message: ExplainedMessage,
        _ explanation: Explanation,
        plugins: [PluginSection],
        limits: MessageLimits = MessageLimits()
    ) {
        self.message = message
        let action = message.action
        let index = plugins.firstIndex { $0.action == action?.name }
        let plugin = index.map { plugins[$0] }
        let use = plugin?.use
        let target = plugin.flatMap { $0.targetDescription(of: $0.use) }
        let notes = [message.orderKey(plugins: plugins), target].compactMap { $0 }
        let isExplained = use?.isExplained == true && explanation.verdict.isCalled
        chain = plugin.flatMap { isExplained ? ChainExplanation($0, message.arrival, limits: limits) : nil }
        let declined = chain?.refusal ?? action.flatMap { use?.refusal(of: $0) }
        steps = explanation.steps.map { step in
            switch step.stage {
            case .plugin where step.passes && index != nil:
                return ExplanationStep(.plugin, "served by plugins[\(index ?? 0)], use: \(use?.keyword ?? "")")
            case .lane where !notes.isEmpty:
                return ExplanationStep(.lane, passes: step.passes, ([step.detail] + notes).joined(separator: "; "))
            case .body where step.passes:
                return declined.map { ExplanationStep(.body, passes: false, $0.description) } ?? step
            default: return step
            }
        }
        guard let declined, explanation.verdict.isCalled else {
            verdict = explanation.verdict
            return
        }
        verdict = ExplanationVerdict(.rejected(Outcome.Rejection(.invalidBody, detail: declined.description)))
    }

    /// Creates an explanation for a link that no source accepts.
    init(unmatched rejection: Outcome.Rejection) {
        message = nil
        chain = nil
        verdict = ExplanationVerdict(.rejected(rejection))
        steps = [ExplanationStep(.envelope, passes: false, rejection.detail)]
    }

    /// Whether the plugin would be called.
    var isCalled: Bool { verdict.isCalled }

    /// The action, or `nil` if the message could not be read.
    var action: Action? { message?.action }

    /// The path of the error in a message that could not be read, or `nil` if its bytes have no such error.
    var errorPath: String? {
        guard case .failure(let rejection)? = message?.arrival.reading, let path = rejection.bodyError?.path else {
            return nil
        }
        return path.isEmpty ? nil : path
    }

    /// The explanation as one JSON object followed by a newline. Its members are, in order:
    ///
    /// - `number`, if a dead letter is explained.
    /// - `url` or `input`, if a link is explained.
    /// - `source`, `envelope`, `action`, `id`, the same facts as in `run --outcomes`, `route`, `unreadableItems` and `body`,
    ///   where they are known.
    /// - `verdict` and `steps`, always.
    /// - `chain`, if the plugin is a chain or `map` and would be called.
    /// - `navigation`, if a link is explained and there is a navigation chain.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        if let number { object.add("number", Int(number)) }
        if let link {
            if let url { object.add("url", url.text) } else { object.add(link) }
        }
        object.add("source", message?.source.name.text)
        object.add("envelope", message?.arrival.envelope.description)
        object.add("action", action?.name.text)
        object.add("id", action?.senderID)
        object.add(message?.arrival.origin.facts)
        object.add("route", message?.route)
        object.add(unreadableItems: message?.arrival.unreadableItems ?? 0)
        if let action { object.add(body(of: action)) }
        object.add("verdict") { object in
            object.add("code", verdict.code)
            object.add("detail", verdict.detail)
        }
        object.add("steps", steps)
        if let chain { object.add("chain", chain: chain.steps) }
        if let navigation { object.add("navigation") { $0.add(navigation) } }
        return object.line
    }

    /// The explanation as lines for a terminal. First come the message's properties, then one line per stage, marked
    /// `ok` or `no`. The last lines are the navigation chain's decision and the verdict.
    var terminalLines: [UInt8] {
        let facts = message?.arrival.origin.facts
        var lines: [UInt8] = []
        /// Adds a line if there is text.
        func add(_ name: String, _ text: String?, passes: Bool? = nil) {
            guard let text else { return }
            let mark = passes.map { $0 ? "ok" : "no" } ?? ""
            lines += TerminalText.line([
                TerminalText.column(mark, width: 2, color: passes.map { $0 ? .green : .red }),
                TerminalText.column(name, width: 14), LineEscape.escaped(text),
            ])
        }
        add("number", number.map(String.init))
        add("url", link.map { url?.text ?? $0.shown })
        add("source", message?.source.name.text)
        add("topic", (facts as? PushFacts)?.topic)
        add("principal", (facts as? ChatFacts)?.principal ?? (facts as? HTTPActionFacts)?.principal)
        add("route", message?.route)
        if let count = message?.arrival.unreadableItems, count > 0 { add("unreadable", "\(count) query items") }
        add("action", action?.name.text)
        add("id", action?.senderID)
        // The name is not `body`, because one of the stages is called that.
        add("content", action.map { TerminalText.body(body(of: $0)) })
        for step in steps { add(step.stage.description, step.detail, passes: step.passes) }
        for (index, step) in (chain?.steps ?? []).enumerated() {
            let body = step.body.map { ": \(TerminalText.body(RawBody(bytes: $0, kind: .json)))" } ?? ""
            add("steps[\(index)]", "\(step.use.keyword): \(step.detail)\(body)", passes: step.passes)
        }
        add("navigation", navigation.map { "\($0.policy.rawValue) by \($0.decider): \($0.reason)" })
        let (code, detail) = (verdict.code, verdict.detail)
        add("verdict", detail.isEmpty ? code : "\(code): \(detail)", passes: isCalled)
        return lines
    }

    private var url: URLText? {
        guard let text = try? link?.text() else { return nil }
        return try? URLText(text)
    }

    /// Returns the body from which a plugin's `Info` is decoded. It includes the captures of the route.
    func body(of action: Action) -> RawBody {
        guard let raw = try? action.body.decode(RawBody.self), raw.kind != .json else {
            return RawBody(bytes: action.body.json, kind: .json)
        }
        return raw
    }
}

extension JSONObject {
    /// Adds the steps as a list of objects with the members `stage`, `passes` and `detail`.
    mutating func add(_ name: String, _ steps: [ExplanationStep]) {
        add(name, objects: steps) { step, object in
            object.add("stage", step.stage.description)
            object.add("passes", step.passes)
            object.add("detail", step.detail)
        }
    }
}
