import NavigationChain
import SignalboxCore
import SignalboxRoutes

/// A verdict as `navigate` prints it.
struct VerdictLine {
    /// The decision of the chain.
    let policy: NavigationPolicy
    private let input: InputLine
    private let url: URLText?
    private let verdict: NavigationVerdict

    /// - Parameter input: The line with the URL.
    init(_ input: InputLine, _ verdict: NavigationVerdict) {
        self.input = input
        policy = verdict.policy
        url = verdict.url
        self.verdict = verdict
    }

    /// Creates the verdict for a line that is not valid text and therefore no URL.
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

    /// Adds `policy`, `decider`, `reason` and `trace`.
    func addDecision(to object: inout JSONObject) {
        VerdictLine.addDecision(of: verdict, to: &object)
    }

    /// Adds `policy`, `decider`, `reason` and `trace` of a verdict.
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
            case .failed(let reason): object.add("reason", reason)
            default: break
            }
        }
    }

    /// The policy, the decider and the reason, as text.
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

/// A navigation of a page and its verdict, as `bridge` prints them.
struct NavigationLine {
    private let request: NavigationRequest?
    private let verdict: NavigationVerdict

    /// - Parameter request: The navigation, or `nil` if its text is not a URL.
    init(_ request: NavigationRequest?, _ verdict: NavigationVerdict) {
        self.request = request
        self.verdict = verdict
    }

    /// Returns one JSON object with a newline: `navigation`, `kind`, `frame`, `policy`, `decider`, `reason`, `trace`;
    /// or text for a terminal.
    func line(isTerminal: Bool) -> [UInt8] {
        guard !isTerminal else { return TerminalText.line(["navigation ", LineEscape.escaped("\(verdict)")]) }
        var object = JSONObject()
        object.add("navigation", verdict.text)
        if let request {
            object.add("kind", request.kind.rawValue)
            object.add("frame", request.frame.rawValue)
        }
        VerdictLine.addDecision(of: verdict, to: &object)
        return object.line
    }
}
