import NavigationChain
import SignalboxRoutes

/// A verdict as `navigate` shows it.
struct VerdictLine {
    /// What shall be done.
    let policy: NavigationPolicy
    private let input: InputLine
    private let url: URLText?
    private let verdict: NavigationVerdict

    /// - Parameter input: the line that the verdict is about.
    init(_ input: InputLine, _ verdict: NavigationVerdict) {
        self.input = input
        policy = verdict.policy
        url = verdict.url
        self.verdict = verdict
    }

    /// A line that is no text, and so no URL.
    init(_ input: InputLine, refused error: URLTextError) {
        self.init(input, NavigationVerdict(refused: "", because: error))
    }

    /// One JSON object with a newline: `url` or `input`, `policy`, `decider`, `reason`, `trace`.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        if let url { object.add("url", url.text) } else { object.add(input) }
        addDecision(to: &object)
        return object.line
    }

    /// `policy`, `decider`, `reason`, `trace`.
    func addDecision(to object: inout JSONObject) {
        VerdictLine.addDecision(of: verdict, to: &object)
    }

    /// The same of any verdict.
    static func addDecision(of verdict: NavigationVerdict, to object: inout JSONObject) {
        object.add("policy", verdict.policy.rawValue)
        object.add("decider", verdict.decider)
        object.add("reason", verdict.reason)
        object.add("trace", objects: verdict.trace) { step, object in
            object.add("handler", step.name)
            object.add("answer", step.answer.description)
            switch step.answer {
            case .decided(let decision):
                object.add("policy", decision.policy.rawValue)
                object.add("reason", decision.reason)
            case .failed(let words): object.add("reason", words)
            default: break
            }
        }
    }

    /// What shall be done, who decided and why, in words.
    var decisionText: String { "\(policy.rawValue) by \(verdict.decider): \(verdict.reason)" }

    /// Policy, decider, URL, reason.
    var terminalLine: [UInt8] {
        TerminalText.line([
            TerminalText.column(policy.rawValue, width: 8),
            TerminalText.column(verdict.decider, width: 16),
            TerminalText.column(url?.text ?? input.shown, width: 48),
            LineEscape.escaped(verdict.reason),
        ])
    }
}
