public import SignalboxCore

extension Supervisor {
    /// Puts middleware around the calls of all plugins, inside what was used before.
    ///
    /// It counts for every batch of actions that a lane begins from now on. One that is an ``OutcomeObserver`` too is told
    /// of every outcome from now on, one that is a ``ReportObserver`` of every report.
    public func use(_ middleware: any Middleware) {
        core.middleware.add(middleware)
    }

    /// Tells somebody of every outcome from now on, and of every report if it is a ``ReportObserver`` too.
    public func observe(_ observer: any OutcomeObserver) {
        core.middleware.add(observer)
    }

    /// Puts middleware around the calls of one plugin, inside that for all plugins and inside what it has already. A plugin
    /// that replaces this one begins with its own. One that is an ``OutcomeObserver`` too is told of the outcomes of actions
    /// that were meant for the plugin.
    ///
    /// Inside `reconfigure` it is put at once around what is registered there, and stays there if nothing else comes of it.
    ///
    /// - Throws: ``RegistrationError/noSuchAction(_:)`` when nothing is registered for the action,
    ///   ``RegistrationError/passesNoMiddleware(_:)`` when it is a `BatchPlugin`.
    public func use(_ middleware: any Middleware, for action: ActionName) throws(RegistrationError) {
        let draft = RegistryDraft.open(for: core.registry)
        let found = draft.map { $0.entry(named: action) } ?? core.registry.snapshot.entry(named: action)
        guard let entry = found else { throw .noSuchAction(action) }
        guard !entry.call.takesWholeRuns else { throw .passesNoMiddleware(action) }
        entry.middleware.add(middleware)
    }
}
