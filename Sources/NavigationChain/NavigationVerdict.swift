public import SignalboxRoutes

/// A chain's decision on one URL. A verdict also names the decider and lists the answers of all handlers that were
/// called.
///
/// Apply the ``policy`` and open the ``url``. The other properties explain the decision.
public struct NavigationVerdict: Sendable, Hashable {
    /// The ``decider`` if no handler decided, so that the chain's fallback applies.
    public static let byFallback = "fallback"
    /// The ``decider`` if `URLText` rejected the text as a URL, so that no handler was called.
    public static let byURL = "url"
    /// The ``decider`` if the calling task was cancelled.
    public static let byCaller = "caller"

    /// The decision and its reason.
    public let decision: NavigationDecision
    /// The name of the handler that decided, failed or timed out. If there is no such handler, this is one of the
    /// reserved names ``byFallback``, ``byURL`` and ``byCaller``.
    public let decider: String
    /// The handlers that were called and their answers, in order, up to and including the decider. If the text is not a
    /// URL, the trace is a single step with the name ``byURL`` and the reason.
    public let trace: [NavigationStep]
    /// The URL to open, or `nil` if the text is not a URL.
    public let url: URLText?
    /// The URL in normal form, or the text as given if it is not a URL.
    ///
    /// The text as given may have any length and contain any characters. It may also contain secrets, most of which
    /// ``description`` omits.
    public let text: String

    /// The decision's policy.
    public var policy: NavigationPolicy { decision.policy }
    /// The reason for the decision, to be written to a log.
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
        decision = .cancel(error.description + NavigationVerdict.advice(on: text, error))
        decider = NavigationVerdict.byURL
        trace = [NavigationStep(name: NavigationVerdict.byURL, answer: .decided(decision))]
        url = nil
        self.text = text
    }

    /// Returns what to add to the chain if only the path's escapes are the problem.
    private static func advice(on text: String, _ error: URLTextError) -> String {
        guard error.reason == .invalidEscape || error.reason == .notUTF8,
            (try? URLText(text, paths: .lenient)) != nil
        else { return "" }
        return "; to let scheme and host alone decide about such a path, add `paths: lenient` to `navigation`"
    }
}

extension NavigationVerdict: CustomStringConvertible {
    /// The verdict in one line for a log: the policy, the URL, the decider, the reason and the trace.
    ///
    /// Control characters are escaped, and long texts are truncated. A URL is shown only up to its query or fragment,
    /// because the rest may contain a secret. For the same reason, a text that is not a URL is not shown. The complete
    /// text is in ``text``.
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

/// One step toward a decision: a handler's name and its answer.
public struct NavigationStep: Sendable, Hashable {
    /// The name of the handler.
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
    /// The handler decided, so no later handler was called.
    case decided(NavigationDecision)
    /// The handler could not be called, or it threw an error, so the navigation is cancelled. The text describes what
    /// happened; for an error, the text contains the error's type and description.
    case failed(String)
    /// The handler missed its deadline, so the navigation is cancelled. A later answer is ignored.
    case timedOut
    /// The caller was cancelled before the handler was called or before it answered, so the navigation is cancelled.
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
    /// The maximum number of Unicode scalars to show from one text.
    static let maximumLength = 512

    /// Returns the text, truncated after ``maximumLength`` scalars. Control characters, line and paragraph separators,
    /// and directional marks are replaced with `\u{...}`.
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
