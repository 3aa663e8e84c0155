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
