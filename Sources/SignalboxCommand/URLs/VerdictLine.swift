import NavigationChain
import SignalboxCore
import SignalboxRoutes

/// Formats a verdict for the output of `navigate`.
struct VerdictLine {
    /// The line that contains the URL.
    let input: InputLine
    let verdict: NavigationVerdict

    /// The verdict as one JSON object followed by a newline. The members are `url` or `input`, `policy`, `decider`,
    /// `reason` and `trace`.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        if let url = verdict.url { object.add("url", url.text) } else { object.add(input) }
        object.add(verdict)
        return object.line
    }

    /// The verdict as columns for a terminal: the policy, the decider, the URL and the reason.
    var terminalLine: [UInt8] {
        TerminalText.line([
            TerminalText.column(verdict.policy.rawValue, width: 8, color: TerminalColor(verdict.policy)),
            TerminalText.column(verdict.decider, width: 16),
            TerminalText.column(verdict.url?.text ?? input.shown, width: 48),
            LineEscape.escaped(verdict.reason),
        ])
    }
}

extension JSONObject {
    /// Adds the members `policy`, `decider`, `reason` and `trace`.
    mutating func add(_ verdict: NavigationVerdict) {
        add("policy", verdict.policy.rawValue)
        add("decider", verdict.decider)
        add("reason", verdict.reason)
        add("trace", objects: verdict.trace) { step, object in
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
}

/// Formats a page navigation and its verdict for the output of `bridge`.
struct NavigationLine {
    /// The navigation, or `nil` if its text is not a URL.
    let request: NavigationRequest?
    let verdict: NavigationVerdict

    /// Returns text for a terminal, or one JSON object otherwise. Both end with a newline. The members of the object
    /// are `navigation`, `kind`, `frame`, `policy`, `decider`, `reason` and `trace`.
    func line(isTerminal: Bool) -> [UInt8] {
        guard !isTerminal else { return TerminalText.line(["navigation ", LineEscape.escaped("\(verdict)")]) }
        var object = JSONObject()
        object.add("navigation", verdict.text)
        if let request {
            object.add("kind", request.kind.rawValue)
            object.add("frame", request.frame.rawValue)
        }
        object.add(verdict)
        return object.line
    }
}
