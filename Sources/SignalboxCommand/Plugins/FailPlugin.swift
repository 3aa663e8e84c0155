import SignalboxCore

/// Throws at each call: for trying what becomes of failures.
struct FailPlugin: SyncPlugin {
    /// What it throws.
    struct Fault: Error, CustomStringConvertible {
        let description = "the plugin 'fail' always fails"
    }

    let action: ActionName

    func callAsAction(_ info: RawBody, context: ActionContext) throws {
        throw Fault()
    }
}
