import SignalboxCore

/// What `send` was asked for.
struct SendRequest: Sendable {
    let action: ActionName
    let id: ActionID?
    let body: BodyInput
    /// The configuration whose plugin is called.
    let config: String
    /// When an outcome is waited for no longer.
    let timeout: Duration?
}
