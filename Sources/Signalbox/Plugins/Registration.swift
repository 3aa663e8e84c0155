public import SignalboxCore
import Synchronization

extension Supervisor {
    /// Registers a closure that works without waiting. A closure without `await` picks this form.
    ///
    /// - Parameters:
    ///   - action: the name it is called for.
    ///   - info: what the body is decoded into; a body that does not fit is rejected and the closure is not called.
    ///   - rule: which origins may call it; nothing else may.
    ///   - options: timeout, order, calls at once, retries, circuit breaker, middleware.
    ///   - replacing: take the place of the plugin that holds the action, while messages flow: what waits for the old one
    ///     is still handled by it, what arrives from now on goes to the new one. Where both promise an order the new one
    ///     begins when nothing of the old one is left unsettled, so that the order is kept; a call that was overdue and has
    ///     not returned is not waited for.
    ///   - handler: called in the order and as many at once as the options say; on any thread.
    /// - Throws: ``RegistrationError/duplicateAction(_:holder:)`` when the action is held and not to be replaced, so that
    ///   the first registration stays; ``RegistrationError/noSuchAction(_:)`` when there is none to replace.
    @inlinable
    public func register<Info: Decodable & Sendable>(
        _ action: ActionName,
        as info: Info.Type,
        from rule: AccessRule,
        options: PluginOptions<Info> = PluginOptions(),
        replacing: Bool = false,
        _ handler: @escaping @Sendable (Info, ActionContext) throws -> Void
    ) throws(RegistrationError) {
        try register(
            action,
            "a closure for \(Info.self)",
            rule,
            LaneOptions(options),
            replacing,
            PluginCall.make(order: options.order, handler)
        )
    }

    /// Registers a closure that works without waiting and answers with a value that is sent as JSON.
    @inlinable
    public func register<Info: Decodable & Sendable, Reply: Encodable & Sendable>(
        _ action: ActionName,
        as info: Info.Type,
        from rule: AccessRule,
        options: PluginOptions<Info> = PluginOptions(),
        replacing: Bool = false,
        _ handler: @escaping @Sendable (Info, ActionContext) throws -> Reply
    ) throws(RegistrationError) {
        try register(
            action,
            "a closure for \(Info.self)",
            rule,
            LaneOptions(options),
            replacing,
            PluginCall.make(order: options.order, handler)
        )
    }

    /// Registers a closure that may wait. It is called in the isolation it was written in.
    @inlinable
    public func register<Info: Decodable & Sendable>(
        _ action: ActionName,
        as info: Info.Type,
        from rule: AccessRule,
        options: PluginOptions<Info> = PluginOptions(),
        replacing: Bool = false,
        _ handler: @escaping @Sendable (Info, ActionContext) async throws -> Void
    ) throws(RegistrationError) {
        try register(
            action,
            "a closure for \(Info.self)",
            rule,
            LaneOptions(options),
            replacing,
            PluginCall.make(order: options.order, handler)
        )
    }

    /// Registers a closure that may wait and answers with a value that is sent as JSON.
    @inlinable
    public func register<Info: Decodable & Sendable, Reply: Encodable & Sendable>(
        _ action: ActionName,
        as info: Info.Type,
        from rule: AccessRule,
        options: PluginOptions<Info> = PluginOptions(),
        replacing: Bool = false,
        _ handler: @escaping @Sendable (Info, ActionContext) async throws -> Reply
    ) throws(RegistrationError) {
        try register(
            action,
            "a closure for \(Info.self)",
            rule,
            LaneOptions(options),
            replacing,
            PluginCall.make(order: options.order, handler)
        )
    }
}

extension Supervisor {
    /// Registers a plugin for the action it names.
    ///
    /// - Parameters:
    ///   - plugin: called in the order and as many at once as the options say.
    ///   - rule: which origins may call it; nothing else may.
    ///   - options: timeout, order, calls at once, retries, circuit breaker, middleware.
    ///   - replacing: take the place of the plugin that holds the action, as with a closure.
    /// - Throws: ``RegistrationError/duplicateAction(_:holder:)`` or ``RegistrationError/noSuchAction(_:)``, as with a
    ///   closure.
    @inlinable
    public func register<P: Plugin>(
        _ plugin: P,
        from rule: AccessRule,
        options: PluginOptions<P.Info> = PluginOptions(),
        replacing: Bool = false
    ) throws(RegistrationError) where P.Reply == Void {
        let call = PluginCall.make(order: options.order) { (info: P.Info, context) async throws -> Void in
            try await plugin.callAsAction(info, context: context)
        }
        try register(plugin.action, "\(P.self)", rule, LaneOptions(options), replacing, call)
    }

    /// Registers a plugin whose reply is sent as JSON.
    @inlinable
    public func register<P: Plugin>(
        _ plugin: P,
        from rule: AccessRule,
        options: PluginOptions<P.Info> = PluginOptions(),
        replacing: Bool = false
    ) throws(RegistrationError) where P.Reply: Encodable {
        let call = PluginCall.make(order: options.order) { (info: P.Info, context) async throws -> P.Reply in
            try await plugin.callAsAction(info, context: context)
        }
        try register(plugin.action, "\(P.self)", rule, LaneOptions(options), replacing, call)
    }

    /// Registers a plugin that works without waiting.
    @inlinable
    public func register<P: SyncPlugin>(
        _ plugin: P,
        from rule: AccessRule,
        options: PluginOptions<P.Info> = PluginOptions(),
        replacing: Bool = false
    ) throws(RegistrationError) where P.Reply == Void {
        let call = PluginCall.make(order: options.order) { (info: P.Info, context) throws -> Void in
            try plugin.callAsAction(info, context: context)
        }
        try register(plugin.action, "\(P.self)", rule, LaneOptions(options), replacing, call)
    }

    /// Registers a plugin that works without waiting and whose reply is sent as JSON.
    @inlinable
    public func register<P: SyncPlugin>(
        _ plugin: P,
        from rule: AccessRule,
        options: PluginOptions<P.Info> = PluginOptions(),
        replacing: Bool = false
    ) throws(RegistrationError) where P.Reply: Encodable {
        let call = PluginCall.make(order: options.order) { (info: P.Info, context) throws -> P.Reply in
            try plugin.callAsAction(info, context: context)
        }
        try register(plugin.action, "\(P.self)", rule, LaneOptions(options), replacing, call)
    }
}

extension Supervisor {
    /// Registers a plugin that handles what a batch holds for it together.
    ///
    /// - Parameters:
    ///   - plugin: called one batch at a time per source, in order.
    ///   - rule: which origins may call it; nothing else may.
    ///   - options: as with other plugins; the timeout is that of the whole batch, and what failed is retried in one call.
    ///   - replacing: take the place of the plugin that holds the action, as with a closure.
    /// - Precondition: the options have no key and no middleware, as one call is for many actions.
    /// - Throws: ``RegistrationError/duplicateAction(_:holder:)`` or ``RegistrationError/noSuchAction(_:)``, as with a
    ///   closure.
    @inlinable
    public func register<P: BatchPlugin>(
        _ plugin: P,
        from rule: AccessRule,
        options: PluginOptions<P.Info> = PluginOptions(),
        replacing: Bool = false
    ) throws(RegistrationError) {
        if case .key = options.order.rule {
            preconditionFailure("a batch holds many keys: a BatchPlugin has none of its own")
        }
        precondition(options.middleware.isEmpty, "the calls of a BatchPlugin pass no middleware")
        let call = PluginCall.makeBatch { (batch: [(info: P.Info, context: ActionContext)]) async throws -> Void in
            try await plugin.callAsActions(batch)
        }
        try register(plugin.action, "\(P.self)", rule, LaneOptions(options), replacing, call)
    }

    /// Removes the plugin of an action, while messages flow. What waits for it is still handled.
    ///
    /// - Throws: ``RegistrationError/noSuchAction(_:)`` when nothing is registered for the action.
    public func remove(_ action: ActionName) throws(RegistrationError) {
        if try RegistryDraft.take(.remove(action), of: core.registry) { return }
        retire(try core.registry.remove(action))
    }

    @usableFromInline
    func register(
        _ action: ActionName,
        _ holder: String,
        _ rule: AccessRule,
        _ options: LaneOptions,
        _ replacing: Bool,
        _ call: PluginCall
    ) throws(RegistrationError) {
        let entry = PluginEntry(
            action: action,
            holder: holder,
            rule: rule,
            options: options,
            timeout: options.timeout ?? core.configuration.timeout,
            call: call,
            breaker: options.circuitBreaker.map { CircuitBreaker($0, for: action.copied(), core.configuration) }
        )
        if try RegistryDraft.take(replacing ? .replace(entry) : .add(entry), of: core.registry) { return }
        if replacing {
            retire(try core.registry.replace(with: entry))
        } else {
            try core.registry.add(entry)
        }
    }

    func retire(_ entry: PluginEntry) {
        // The registry has let go of it: an intake that still routes by the old table ends before it forgets the lane.
        for intake in state.withLock({ Array($0.intakes.values) }) { intake.forgetLane(of: entry) }
        core.lanes.retire(entry)
    }
}

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

/// Why a plugin or a source was not registered.
public enum RegistrationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The action already has a plugin; the first one stays.
    case duplicateAction(ActionName, holder: String)
    /// The action has no plugin that could be replaced or removed.
    case noSuchAction(ActionName)
    /// The action's plugin takes whole batches, and its calls pass no middleware.
    case passesNoMiddleware(ActionName)
    /// The source is already there; the first one stays.
    case duplicateSource(SourceName)
    /// The supervisor drains or has stopped.
    case closed

    /// What is wrong and what to do.
    public var description: String {
        switch self {
        case .duplicateAction(let action, let holder):
            "action \(action) is already served by \(holder); remove or replace it first"
        case .noSuchAction(let action): "no plugin is registered for action \(action)"
        case .passesNoMiddleware(let action):
            "the calls of the BatchPlugin for action \(action) pass no middleware; observe its outcomes instead"
        case .duplicateSource(let source): "source \(source) is already there; give each source its own name"
        case .closed: "the supervisor is closing; register before it drains"
        }
    }
}
