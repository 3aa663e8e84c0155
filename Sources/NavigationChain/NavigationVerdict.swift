public import SignalboxRoutes

/// A chain's decision about one URL, with its decider and the answers of all handlers called.
public struct NavigationVerdict: Sendable, Hashable {
    /// The decider if no handler decided and the chain's fallback applies.
    public static let byFallback = "fallback"
    /// The decider if `URLText` rejects the text as a URL. No handler was called.
    public static let byURL = "url"
    /// The decider if the calling task was cancelled.
    public static let byCaller = "caller"

    /// The decision and its reason.
    public let decision: NavigationDecision
    /// The name of the handler that decided, failed or timed out; otherwise ``byFallback``, ``byURL`` or ``byCaller``,
    /// which are reserved names.
    public let decider: String
    /// The handlers called, in order, with their answers, up to the decider. For a text that is not a URL, a single
    /// step named ``byURL`` with the reason.
    public let trace: [NavigationStep]
    /// The URL in the form to open, or `nil` when the text is not a URL.
    public let url: URLText?
    /// The URL in normal form. If the text is not a URL, the text as given, of any length and with any characters. It
    /// may contain secrets; ``description`` omits most of it.
    public let text: String

    /// The decision's policy.
    public var policy: NavigationPolicy { decision.policy }
    /// The decision's reason, for a log.
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
    /// One log line: policy, URL, decider, reason and trace. Control characters are escaped and long texts truncated.
    ///
    /// Shows the URL only up to its query or fragment, and nothing of any other text, because the rest may contain a
    /// secret. ``text`` is complete.
    public var description: String {
        let steps = trace.map(\.description).joined(separator: ", ")
        let suffix = steps.isEmpty ? "" : " (\(steps))"
        return
            "\(policy) \(shownURL), by \(NavigationLogText.line(decider)): \(NavigationLogText.line(reason))\(suffix)"
    }

    private var shownURL: String {
        url.map { NavigationLogText.line("\($0)") } ?? "no URL"
    }
}

/// A step of a decision: a handler and its answer.
public struct NavigationStep: Sendable, Hashable {
    /// The handler's name.
    public let name: String
    /// The handler's answer.
    public let answer: NavigationAnswer
}

extension NavigationStep: CustomStringConvertible {
    /// The name and the answer, in one line.
    public var description: String { "\(NavigationLogText.line(name)) \(answer)" }
}

/// The result of calling one handler.
public enum NavigationAnswer: Sendable, Hashable {
    /// The handler passed the request on.
    case passed
    /// The handler decided. No later handler was called.
    case decided(NavigationDecision)
    /// The handler threw an error, given by type and description, or could not be called. The verdict is to cancel.
    case failed(String)
    /// The handler missed its deadline. The verdict is to cancel, and a later answer is ignored.
    case timedOut
    /// The caller was cancelled before the handler was called or had answered. The verdict is to cancel.
    case abandoned
}

extension NavigationAnswer: CustomStringConvertible {
    /// The answer's name in logs and JSON, such as `passed`, without the text of a decision or an error.
    public var description: String {
        switch self {
        case .passed: "passed"
        case .decided: "decided"
        case .failed: "failed"
        case .timedOut: "timedOut"
        case .abandoned: "abandoned"
        }
    }
}

extension NavigationAnswer {
    /// Creates the answer for a call that returned.
    init(_ decision: NavigationDecision?) {
        self = decision.map(NavigationAnswer.decided) ?? .passed
    }

    /// Creates the answer for a call that threw an error.
    init(throwing error: any Error) {
        self = .failed(NavigationLogText.line("\(type(of: error)): \(error)"))
    }
}

/// Makes untrusted text safe for use in one log line.
enum NavigationLogText {
    /// The maximum number of Unicode scalars shown of one text.
    static let maximumLength = 512

    /// Returns the text truncated after ``maximumLength`` scalars. `\u{...}` replaces control characters, line and
    /// paragraph separators, and directional marks.
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
