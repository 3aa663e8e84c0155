/// Why somebody waits for a source's window to empty: each gives up on its own.
enum EmptyWait: Sendable {
    /// The end of the run.
    case drain
    /// The removal of the source, which does not wait for a call that goes on, while a drain does.
    case removal
}
