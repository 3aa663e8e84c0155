public import SignalboxCore

/// Shows an arrival's path to a plugin, stage by stage, with reasons.
///
/// Use an explanation to find out why a message did or did not reach its plugin:
///
/// - ``Supervisor/explain(_:)`` describes what would happen to an arrival, including the steps after the one that stops
///   the arrival.
/// - ``DeadLetter/explanation`` describes what happened to a dead letter, up to the step that stopped it.
///
/// The description has one line for the verdict, followed by one line for each step.
public struct Explanation: Sendable, Hashable, CustomStringConvertible {
    /// The source of the arrival.
    public let source: SourceName
    /// The envelope that the message was read with or, if the message could not be read, the envelope that was tried.
    public let envelope: EnvelopeKind
    /// The action's name, or `nil` if the message could not be read.
    public let action: ActionName?
    /// The action's id, or `nil` if the message could not be read.
    public let id: ActionID?
    /// The results of the stages, in the order in which the arrival passes them.
    public let steps: [ExplanationStep]
    /// The overall result, which is determined by the first step that does not pass.
    public let verdict: ExplanationVerdict

    /// The verdict and the steps, one per line, without a trailing line break. All text is escaped and redacted.
    public var description: String {
        let subject = action.map { "\($0) \(id.map { Redaction.line($0.text) } ?? "")" } ?? "unreadable message"
        return ([("\(subject) of \(source): \(verdict)")] + steps.map { "  \($0)" }).joined(separator: "\n")
    }
}

extension Explanation: Encodable {
    private enum CodingKeys: String, CodingKey { case source, envelope, action, id, verdict, steps }

    /// Encodes names and kinds as strings, and leaves out an unknown action or id. The id and the details are not
    /// redacted.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(source.text, forKey: .source)
        try container.encode(envelope.description, forKey: .envelope)
        try container.encodeIfPresent(action?.text, forKey: .action)
        try container.encodeIfPresent(id?.text, forKey: .id)
        try container.encode(verdict, forKey: .verdict)
        try container.encode(steps, forKey: .steps)
    }
}

/// The result of checking an arrival at one stage.
public struct ExplanationStep: Sendable, Hashable, Encodable, CustomStringConvertible {
    /// The stage that was checked.
    public let stage: ExplanationStage
    /// Whether the stage lets the arrival continue.
    public let passes: Bool
    /// The reason or the configuration, in words. Text from rules, middleware, plugins and their errors is included
    /// unchanged. Use ``description`` where the text must be escaped and redacted.
    public let detail: String

    package init(_ stage: ExplanationStage, passes: Bool = true, _ detail: String) {
        self.stage = stage
        self.passes = passes
        self.detail = detail
    }

    /// The step as a single line, such as `deadline        stops   the deadline has passed`, escaped and redacted.
    public var description: String {
        let padding = String(repeating: " ", count: max(1, 16 - stage.description.utf8.count))
        return "\(stage)\(padding)\(passes ? "passes" : "stops ")  \(Redaction.line(detail))"
    }
}

extension ExplanationStep {
    /// Creates the step that checks an access rule, with the part of the rule that determined the decision.
    init(_ rule: AccessRule, _ origin: Origin) {
        let decision = rule.decision(for: origin)
        let wholes = [decision.decidedBy, "any of (\(decision.decidedBy))", "all of (\(decision.decidedBy))"]
        let part = wholes.contains(rule.description) ? "" : "; the rule is \(rule)"
        guard !decision.isAllowed else {
            self.init(.access, "\(decision)\(part)")
            return
        }
        let reason = decision.lacksName ? ", which does not name this untrusted origin" : ""
        self.init(
            .access,
            passes: false,
            "not allowed: the message comes from \(origin.source), but 'from' \(decision.demand)\(reason)\(part)"
        )
    }
}

extension AccessDecision {
    /// What the rule demands of a message, for a refusal.
    fileprivate var demand: String {
        let isNegation = decidedBy.hasPrefix("not (") && decidedBy.hasSuffix(")")
        return isNegation ? "excludes \(decidedBy.dropFirst(5).dropLast())" : "requires \(decidedBy)"
    }
}

/// A stage on an arrival's path to its plugin. The stages are listed in order, and later versions may add more.
public struct ExplanationStage: Sendable, Hashable, Encodable, CustomStringConvertible {
    private let name: String

    /// The source accepts the arrival. An explanation contains this stage only if the arrival is not accepted, because
    /// the supervisor is draining or has stopped, or because the source is being removed.
    public static let intake = ExplanationStage(name: "intake")
    /// The message is read to obtain the name, the id and the body.
    public static let envelope = ExplanationStage(name: "envelope")
    /// The plugin is looked up by the name of the action.
    public static let plugin = ExplanationStage(name: "plugin")
    /// The plugin's access rule is checked against the origin.
    public static let access = ExplanationStage(name: "access")
    /// The id is looked up for deduplication.
    public static let deduplication = ExplanationStage(name: "deduplication")
    /// The action's deadline is checked.
    public static let deadline = ExplanationStage(name: "deadline")
    /// The source's rate limit is checked.
    public static let rateLimit = ExplanationStage(name: "rateLimit")
    /// The plugin's circuit breaker is checked.
    public static let circuitBreaker = ExplanationStage(name: "circuitBreaker")
    /// The action waits in the plugin's lane.
    public static let lane = ExplanationStage(name: "lane")
    /// The plugin is called once, or possibly several times if it has a retry policy.
    public static let attempts = ExplanationStage(name: "attempts")
    /// The timeout limits how long a call may take.
    public static let timeout = ExplanationStage(name: "timeout")
    /// Middleware runs around the call.
    public static let middleware = ExplanationStage(name: "middleware")
    /// The body is decoded as the plugin's `Info`.
    public static let body = ExplanationStage(name: "body")

    /// The name used in explanations and JSON, such as `rateLimit`.
    public var description: String { name }

    /// Encodes the name of the stage.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }
}

/// The overall result of an explanation.
public struct ExplanationVerdict: Sendable, Hashable, Encodable, CustomStringConvertible {
    /// The code of the verdict, which is one of these:
    ///
    /// - `called` if the plugin would be called.
    /// - `duplicate` if the arrival is a duplicate, which would receive the earlier outcome without a call of the
    ///   plugin.
    /// - `closed` if the source does not accept arrivals.
    /// - `held` if the action has no plugin, and the source holds the arrival until one is registered. The detail says
    ///   how long, and how many arrivals the source holds.
    /// - In any other case, the code of the outcome, such as `sourceNotAllowed`.
    public let code: String
    /// The reason, in words, which is empty if the plugin would be called. Use ``description`` where the text must be
    /// escaped and redacted.
    public let detail: String

    static let called = ExplanationVerdict(code: "called", detail: "")

    static func held(_ detail: String) -> Self { Self(code: "held", detail: detail) }

    /// Whether the plugin would be called.
    public var isCalled: Bool { self == .called }

    /// The code and the detail in one line, escaped and redacted.
    public var description: String {
        detail.isEmpty ? code : "\(code): \(Redaction.line(detail))"
    }
}

extension ExplanationVerdict {
    package init(_ outcome: Outcome) {
        code = outcome.code
        switch outcome {
        case .rejected(let rejection): detail = rejection.detail
        case .failed(let failure): detail = failure.detail
        case .handled, .abandoned: detail = ""
        }
    }
}
