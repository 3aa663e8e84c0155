import SignalboxCore

/// What an explanation comes to.
public struct ExplanationVerdict: Sendable, Hashable, Encodable, CustomStringConvertible {
    /// `called` when the plugin would be called; `repeated` when it came before, so that it would have that one's outcome
    /// without a call; `closed` when nothing more is taken, so that there would be no arrival; else the code of the outcome,
    /// such as `sourceNotAllowed`.
    public let code: String
    /// Why, in words; empty when the plugin would be called. ``description`` has it escaped and redacted.
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

    /// Code and detail in one line, escaped and without secrets.
    public var description: String {
        detail.isEmpty ? code : "\(code): \(LogText.shown(detail))"
    }
}
