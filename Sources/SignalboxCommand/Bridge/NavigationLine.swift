import NavigationChain

/// Where a page wanted to go, and what was decided, as `bridge` shows it.
struct NavigationLine {
    private let request: NavigationRequest?
    private let verdict: NavigationVerdict

    /// - Parameter request: what was asked; `nil` where the text is no URL.
    init(_ request: NavigationRequest?, _ verdict: NavigationVerdict) {
        self.request = request
        self.verdict = verdict
    }

    /// One JSON object with a newline: `navigation`, `kind`, `frame`, `policy`, `decider`, `reason`, `trace`; or words for a
    /// person.
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
