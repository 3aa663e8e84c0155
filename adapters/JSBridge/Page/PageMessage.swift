import SignalboxCore

/// What the program sends to a page.
struct PageMessage: Sendable {
    let action: ActionName
    let id: ActionID?
    let body: Bytes
    /// What the answer bears, or 0 when none is waited for.
    let number: UInt64
}
