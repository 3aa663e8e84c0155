public import SignalboxCore

extension ActionName {
    /// The broker had lost the session of a source that came back: messages sent while it was away may be missing.
    /// Submitted before the new session's first message. The body is an object of `broker`, `client_id` and, for a further
    /// connection of the source, `connection`. No publisher can send it.
    public static let pushSessionLost = ActionName.own("sessionLost")
}
