public import SignalboxCore

/// What happens to an arrival on its way to a plugin, stage by stage, and why.
///
/// Of an arrival that is asked about it says what would happen now (``Supervisor/explain(_:)``), and what every stage
/// says that can be asked, those behind the one that stops it included. Of a dead letter it says what did happen
/// (``DeadLetter/explanation``), up to the stage that stopped it.
///
/// Printed it is a line with the verdict and one line for each step.
public struct Explanation: Sendable, Hashable, CustomStringConvertible {
    /// The source it came from.
    public let source: SourceName
    /// The envelope it was read by, or tried with.
    public let envelope: EnvelopeKind
    /// The action's name, or `nil` when the message could not be read.
    public let action: ActionName?
    /// The action's id, or `nil` when the message could not be read.
    public let id: ActionID?
    /// What the stages say, in the order of the path.
    public let steps: [ExplanationStep]
    /// What it comes to: the first step that does not pass decides.
    public let verdict: ExplanationVerdict

    /// The verdict and the steps, one a line, without a line end behind the last, escaped and without secrets.
    public var description: String {
        let subject = action.map { "\($0) \(id.map { LogText.shown($0.text) } ?? "")" } ?? "unreadable message"
        return ([("\(subject) of \(source): \(verdict)")] + steps.map { "  \($0)" }).joined(separator: "\n")
    }
}

extension Explanation: Encodable {
    private enum CodingKeys: String, CodingKey { case source, envelope, action, id, verdict, steps }

    /// Encodes names and kinds as their texts, and leaves out an action and an id that are not known. Id and details are as
    /// they are, not redacted.
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

/// What one stage says about an arrival.
public struct ExplanationStep: Sendable, Hashable, Encodable, CustomStringConvertible {
    /// Which stage.
    public let stage: ExplanationStage
    /// Whether it lets the arrival go on.
    public let passes: Bool
    /// Why, or what is configured, in words. Words of rules, middleware, plugins and their errors are in it as they are:
    /// ``description`` has it escaped and redacted.
    public let detail: String

    init(_ stage: ExplanationStage, passes: Bool = true, _ detail: String) {
        self.stage = stage
        self.passes = passes
        self.detail = detail
    }

    /// One line, such as `access          stops   refused by source push`, escaped and without secrets.
    public var description: String {
        let padding = String(repeating: " ", count: max(1, 16 - stage.description.utf8.count))
        return "\(stage)\(padding)\(passes ? "passes" : "stops ")  \(LogText.shown(detail))"
    }
}

/// One stage of the path that an arrival takes to its plugin. The stages, in their order; more may be added.
public struct ExplanationStage: Sendable, Hashable, Encodable, CustomStringConvertible {
    private enum Word: String {
        case intake, envelope, plugin, access, repeats, deadline, rateLimit, circuitBreaker, lane, attempts, timeout,
            middleware, body
    }
    private let word: Word

    /// Its source takes it. Said only where it does not, as the supervisor drains or has stopped or the source is being
    /// removed.
    public static let intake = ExplanationStage(word: .intake)
    /// The message is read: name, id, body.
    public static let envelope = ExplanationStage(word: .envelope)
    /// The plugin is found by the action's name.
    public static let plugin = ExplanationStage(word: .plugin)
    /// The plugin's access rule is asked about the origin.
    public static let access = ExplanationStage(word: .access)
    /// Whether it came before is looked up by its id.
    public static let repeats = ExplanationStage(word: .repeats)
    /// Whether it is too late to begin.
    public static let deadline = ExplanationStage(word: .deadline)
    /// Whether the source sends too much.
    public static let rateLimit = ExplanationStage(word: .rateLimit)
    /// Whether the plugin is left alone after failures.
    public static let circuitBreaker = ExplanationStage(word: .circuitBreaker)
    /// It waits for its turn.
    public static let lane = ExplanationStage(word: .lane)
    /// How often the plugin is called, or was.
    public static let attempts = ExplanationStage(word: .attempts)
    /// How long one call may take, or took.
    public static let timeout = ExplanationStage(word: .timeout)
    /// What stands around the call.
    public static let middleware = ExplanationStage(word: .middleware)
    /// The body becomes the plugin's `Info`.
    public static let body = ExplanationStage(word: .body)

    /// The word used in explanations and JSON, such as `rateLimit`.
    public var description: String { word.rawValue }

    /// Encodes the word.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(word.rawValue)
    }
}

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
