public import SignalboxRoutes

/// What a chain decided about one URL, who decided it, and who was asked on the way.
public struct NavigationVerdict: Sendable, Hashable {
    /// The decider when no handler decided: the chain's fallback.
    public static let byFallback = "fallback"
    /// The decider when the text is no URL that `URLText` takes. No handler was asked.
    public static let byURL = "url"
    /// The decider when the task that wanted the verdict was cancelled.
    public static let byCaller = "caller"

    /// What shall be done, and why.
    public let decision: NavigationDecision
    /// The name of the handler that decided, failed or was late; else ``byFallback``, ``byURL`` or ``byCaller``, which no
    /// handler may be called.
    public let decider: String
    /// Who was asked, in order, and what each said; nobody after the decider was. For a text that is no URL it is one
    /// step, ``byURL``, with the reason.
    public let trace: [NavigationStep]
    /// The URL, in the form in which it must be opened; `nil` when the text is none.
    public let url: URLText?
    /// The URL's text in normal form, or the text as it was given where it is no URL: then of any length, with any
    /// characters. It may hold secrets, and ``description`` leaves most of it out.
    public let text: String

    /// What shall be done.
    public var policy: NavigationPolicy { decision.policy }
    /// Why, in words.
    public var reason: String { decision.reason }

    package init(
        _ decision: NavigationDecision,
        by decider: String,
        about url: URLText,
        trace: [NavigationStep]
    ) {
        self.decision = decision
        self.decider = decider
        self.trace = trace
        self.url = url
        text = url.text
    }

    package init(refused text: String, because error: URLTextError) {
        decision = .cancel(error.description)
        decider = NavigationVerdict.byURL
        trace = [NavigationStep(name: NavigationVerdict.byURL, answer: .decided(decision))]
        url = nil
        self.text = text
    }
}

extension NavigationVerdict: CustomStringConvertible {
    /// One line for a log: policy, URL, decider, reason and trace, with control characters escaped and long texts cut.
    ///
    /// Of the URL only what is before its query and fragment is shown, of a text that is no URL nothing: the rest may
    /// hold a secret. ``text`` has all of it.
    public var description: String {
        let steps = trace.map(\.description).joined(separator: ", ")
        let asked = steps.isEmpty ? "" : " (\(steps))"
        return "\(policy) \(shownURL), by \(LineText.line(decider)): \(LineText.line(reason))\(asked)"
    }

    private var shownURL: String {
        url.map { LineText.line("\($0)") } ?? "no URL"
    }
}
