import SignalboxCore

extension Supervisor {
    /// Changes many plugins in one step, while messages flow: each message finds all of them as they were before, or all as
    /// they are afterwards, and never meets a missing plugin between two.
    ///
    /// ```swift
    /// try supervisor.reconfigure {
    ///     try supervisor.remove("loading")
    ///     try supervisor.register(ShowProgress(), from: .source("page"))
    ///     try supervisor.register(Payment(limit: 100), from: .source("page"), replacing: true)
    /// }
    /// ```
    ///
    /// What waits for a plugin that was replaced or removed is still handled by it, and one that takes the place of another
    /// begins after it, as `register` says; to remove and register an action in one step is the same as to replace it. Changes that another task makes meanwhile
    /// stay; when the two do not go together this one is not made. Inside another `reconfigure` of the same supervisor it is
    /// a part of that one.
    ///
    /// - Parameter changes: registers and removes plugins of this supervisor, in its own task.
    /// - Throws: what `changes` throws, and ``RegistrationError``; then nothing has changed.
    public func reconfigure(_ changes: () throws -> Void) throws {
        if RegistryDraft.open(for: core.registry) != nil { return try changes() }
        let draft = RegistryDraft(of: core.registry)
        defer { draft.close() }
        try RegistryDraft.$current.withValue(draft) { try changes() }
        for entry in try core.registry.update(draft.close()) { retire(entry) }
    }
}
