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

/// One step of the way to a verdict: who was asked, and what came of it.
public struct NavigationStep: Sendable, Hashable {
    /// The handler's name.
    public let name: String
    /// What came of asking it.
    public let answer: NavigationAnswer

    init(name: String, answer: NavigationAnswer) {
        self.name = name
        self.answer = answer
    }
}

extension NavigationStep: CustomStringConvertible {
    /// Name and answer, in one line.
    public var description: String { "\(LineText.line(name)) \(answer)" }
}

/// What came of asking one handler.
public enum NavigationAnswer: Sendable, Hashable {
    /// It passed the request on.
    case notMine
    /// It decided, and nobody was asked after it.
    case decided(NavigationDecision)
    /// It threw, with the error's type and words, or could not be called. The verdict is to cancel.
    case failed(String)
    /// It did not answer in time. The verdict is to cancel; what it answers later is ignored.
    case late
    /// Whoever asked was cancelled before the handler was asked or had answered. The verdict is to cancel.
    case abandoned
}

extension NavigationAnswer: CustomStringConvertible {
    /// The word used in logs and JSON, such as `notMine`, without what a decision or an error says.
    public var description: String {
        switch self {
        case .notMine: "notMine"
        case .decided: "decided"
        case .failed: "failed"
        case .late: "late"
        case .abandoned: "abandoned"
        }
    }
}

extension NavigationAnswer {
    /// What a handler's call came to, when it returned.
    init(_ decision: NavigationDecision?) {
        self = decision.map(NavigationAnswer.decided) ?? .notMine
    }

    /// What a handler's call came to, when it threw.
    init(throwing error: any Error) {
        self = .failed(LineText.line("\(type(of: error)): \(error)"))
    }
}

/// Text from outside, made safe to be part of one line of a log.
enum LineText {
    /// The most characters (Unicode scalars) of one text that are shown.
    static let maximumLength = 512

    /// The text with `\u{...}` in place of control characters, of line and paragraph separators and of the marks that
    /// turn the direction of writing, cut after ``maximumLength``.
    static func line(_ text: String) -> String {
        var line = ""
        var count = 0
        for scalar in text.unicodeScalars {
            guard count < maximumLength else { return line + "…" }
            count += 1
            if isUnsafe(scalar) {
                line += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                line.unicodeScalars.append(scalar)
            }
        }
        return line
    }

    static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
        case 0x61C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }
}
