/// A part of a new configuration that a running program cannot take over.
struct WaitingChange: Sendable, Hashable {
    /// Which one, as in `dead_letters.count`.
    let key: String
    /// Why not.
    let reason: String
}
