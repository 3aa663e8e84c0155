/// Where the scripts of a page run.
enum ScriptPlace: String, Sendable, Hashable, CaseIterable {
    /// In the command's own process.
    case shared
    /// In a separate process, which can be killed whatever they do.
    case own
}
