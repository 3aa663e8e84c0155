/// Whether a finding keeps a configuration from being run.
enum ProblemSeverity: String, Sendable, Hashable {
    /// It does.
    case error
    /// It does not, and what was meant will probably not happen.
    case warning
}
