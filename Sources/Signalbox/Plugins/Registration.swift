public import SignalboxCore
import Synchronization

extension Supervisor {
    /// Registers a synchronous closure. A closure without `await` selects this overload.
    ///
    /// - Parameters:
    ///   - action: The action to handle.
    ///   - info: The type to decode the body as. A body that does not match is rejected without calling the closure.
    ///   - rule: The origins that may call the plugin; all others are rejected.
    ///   - options: Timeout, order, concurrency, retries, circuit breaker and middleware.
    ///   - replacing: Whether to replace the plugin registered for the action, while messages flow. The old plugin
    ///     handles the actions that wait for it; the new one receives later arrivals. If both are ordered, the new one
    ///     starts after everything of the old one is settled. An overdue call that has not returned is not awaited.
    ///   - handler: The closure, called on any thread with the order and concurrency of the options.
    /// - Throws: ``RegistrationError/duplicateAction(_:holder:)`` if the action is taken and `replacing` is `false`;
    ///   the first registration stays. ``RegistrationError/noSuchAction(_:)`` if there is no plugin to replace.
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

    /// Registers a synchronous closure whose return value is sent as a JSON reply.
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

    /// Registers an asynchronous closure. It is called in its own isolation.
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

    /// Registers an asynchronous closure whose return value is sent as a JSON reply.
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
    /// Registers a plugin for its action.
    ///
    /// - Parameters:
    ///   - plugin: The plugin, called with the order and concurrency of the options.
    ///   - rule: The origins that may call the plugin; all others are rejected.
    ///   - options: Timeout, order, concurrency, retries, circuit breaker and middleware.
    ///   - replacing: Whether to replace the plugin registered for the action, as for a closure.
    /// - Throws: ``RegistrationError/duplicateAction(_:holder:)`` or ``RegistrationError/noSuchAction(_:)``, as for a
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

    /// Registers a synchronous plugin.
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

    /// Registers a synchronous plugin whose reply is sent as JSON.
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
    /// Registers a plugin that handles its actions of a batch together.
    ///
    /// - Parameters:
    ///   - plugin: The plugin, called with one batch at a time per source, in order.
    ///   - rule: The origins that may call the plugin; all others are rejected.
    ///   - options: As for other plugins. The timeout covers the batch, and failed actions are retried in one call.
    ///   - replacing: Whether to replace the plugin registered for the action, as for a closure.
    /// - Precondition: The options have no key and no middleware, because one call handles many actions.
    /// - Throws: ``RegistrationError/duplicateAction(_:holder:)`` or ``RegistrationError/noSuchAction(_:)``, as for a
    ///   closure.
    @inlinable
    public func register<P: BatchPlugin>(
        _ plugin: P,
        from rule: AccessRule,
        options: PluginOptions<P.Info> = PluginOptions(),
        replacing: Bool = false
    ) throws(RegistrationError) {
        if case .key = options.order.rule {
            preconditionFailure("a BatchPlugin has no key: its batches hold many keys")
        }
        precondition(options.middleware.isEmpty, "the calls of a BatchPlugin pass no middleware")
        let call = PluginCall.makeBatch { (batch: [(info: P.Info, context: ActionContext)]) async throws -> Void in
            try await plugin.callAsActions(batch)
        }
        try register(plugin.action, "\(P.self)", rule, LaneOptions(options), replacing, call)
    }

    /// Removes the plugin of an action, while messages flow. It still handles the actions that wait for it.
    ///
    /// - Throws: ``RegistrationError/noSuchAction(_:)`` if no plugin is registered for the action.
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
        // The registry has dropped it: an intake that still routes by the old table ends before it forgets the lane.
        for intake in state.withLock({ Array($0.intakes.values) }) { intake.forgetLane(of: entry) }
        core.lanes.retire(entry)
    }
}

extension Supervisor {
    /// Changes several plugins in one step, while messages flow. Each message is routed either by all the old plugins
    /// or by all the new ones, and never finds a plugin missing in between.
    ///
    /// ```swift
    /// try supervisor.reconfigure {
    ///     try supervisor.remove("loading")
    ///     try supervisor.register(ShowProgress(), from: .source("page"))
    ///     try supervisor.register(Payment(limit: 100), from: .source("page"), replacing: true)
    /// }
    /// ```
    ///
    /// A replaced or removed plugin still handles the actions that wait for it, and a replacement starts after it, as
    /// with `register`. Removing and registering an action in one step is the same as replacing it. Concurrent changes
    /// by another task are kept; if they conflict with this one, this one fails. A nested `reconfigure` of the same
    /// supervisor becomes part of the outer one.
    ///
    /// - Parameter changes: A closure that registers and removes plugins of this supervisor, within the current task.
    /// - Throws: The error of `changes`, or ``RegistrationError``; nothing has changed then.
    public func reconfigure(_ changes: () throws -> Void) throws {
        if RegistryDraft.open(for: core.registry) != nil { return try changes() }
        let draft = RegistryDraft(of: core.registry)
        defer { draft.close() }
        try RegistryDraft.$current.withValue(draft) { try changes() }
        for entry in try core.registry.update(draft.close()) { retire(entry) }
    }
}

/// The reason a plugin or a source could not be registered.
public enum RegistrationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The action already has a plugin, which stays registered.
    case duplicateAction(ActionName, holder: String)
    /// The action has no plugin to replace or remove.
    case noSuchAction(ActionName)
    /// The action's plugin handles whole batches, so its calls pass through no middleware.
    case middlewareUnsupported(ActionName)
    /// The source is already present and stays.
    case duplicateSource(SourceName)
    /// The supervisor is draining or has stopped.
    case closed

    /// The problem and its remedy.
    public var description: String {
        switch self {
        case .duplicateAction(let action, let holder):
            "action \(action) is already served by \(holder); remove or replace it first"
        case .noSuchAction(let action): "no plugin is registered for action \(action)"
        case .middlewareUnsupported(let action):
            "the calls of the BatchPlugin for action \(action) pass no middleware; observe its outcomes instead"
        case .duplicateSource(let source): "a source named \(source) already exists; give each source its own name"
        case .closed: "the supervisor is closing; register before it drains"
        }
    }
}
