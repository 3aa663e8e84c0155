/// Why somebody waits until everything of a source is settled. Each gives up by itself.
enum EmptyWait: Hashable, Sendable {
    /// The supervisor ends.
    case drain
    /// The source is removed.
    case removal
}
