import SignalboxCore

/// What an explanation comes to.
public struct ExplanationVerdict: Sendable, Hashable, Encodable, CustomStringConvertible {
    /// `called` when the plugin would be called; `repeated` when it came before, so that it would have that one's outcome
    /// without a call; else the code of the outcome, such as `sourceNotAllowed`.
    public let code: String
    /// Why, in words; empty when the plugin would be called. Escape it before it is shown.
    public let detail: String

    init(code: String, detail: String) {
        self.code = code
        self.detail = detail
    }

    init(_ outcome: Outcome) {
        code = outcome.code
        switch outcome {
        case .handled: detail = ""
        case .rejected(let rejection): detail = rejection.detail
        case .failed(let failure): detail = failure.detail
        case .abandoned: detail = ""
        }
    }

    static let called = ExplanationVerdict(code: "called", detail: "")

    /// Whether the plugin would be called.
    public var isCalled: Bool { self == .called }

    /// Code and detail in one line, with control characters escaped.
    public var description: String {
        detail.isEmpty ? code : "\(code): \(LogText.escaped(detail))"
    }
}
