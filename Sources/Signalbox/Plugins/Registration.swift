public import SignalboxCore
import Synchronization

/// A plugin together with its action, its access rule and its options.
///
/// A registration is a value: nothing happens until a supervisor registers it, so the same registration can be given to
/// several supervisors, or to `PluginTester` in a test.
///
/// ```swift
/// try supervisor.register(
///     Registration("payment", as: Payment.self, from: .source("page")) { payment, context in
///         try await shop.pay(payment)
///     }
/// )
/// ```
public struct Registration: Sendable {
    /// The action that the plugin handles.
    public let action: ActionName
    /// Describes the plugin in the error of a second registration.
    let holder: String
    let rule: AccessRule
    let options: LaneOptions
    let call: PluginCall

    @usableFromInline
    init(_ action: ActionName, _ holder: String, _ rule: AccessRule, _ options: LaneOptions, _ call: PluginCall) {
        self.action = action
        self.holder = holder
        self.rule = rule
        self.options = options
        self.call = call
    }
}

// MARK: - Closures

extension Registration {
    /// Registers a synchronous closure. A closure without `await` selects this initializer.
    ///
    /// - Parameters:
    ///   - action: The action to handle.
    ///   - info: The type to decode the body as. A body that does not match is rejected without calling the closure.
    ///   - rule: The origins that may call the plugin; all others are rejected.
    ///   - options: Timeout, order, concurrency, retries, circuit breaker and middleware.
    ///   - handler: The closure, called on any thread with the order and concurrency of the options.
    @inlinable
    public init<Info: Decodable & Sendable>(
        _ action: ActionName,
        as info: Info.Type,
        from rule: AccessRule,
        options: PluginOptions<Info> = PluginOptions(),
        _ handler: @escaping @Sendable (Info, ActionContext) throws -> Void
    ) {
        let call = PluginCall.make(options.order, reply: { _ in nil }, handler)
        self.init(action, "a closure for \(Info.self)", rule, LaneOptions(options), call)
    }

    /// Registers a synchronous closure whose return value is sent as a JSON reply.
    @inlinable
    public init<Info: Decodable & Sendable, Reply: Encodable & Sendable>(
        _ action: ActionName,
        as info: Info.Type,
        from rule: AccessRule,
        options: PluginOptions<Info> = PluginOptions(),
        _ handler: @escaping @Sendable (Info, ActionContext) throws -> Reply
    ) {
        let call = PluginCall.make(options.order, reply: { try BodyWriter.write($0) }, handler)
        self.init(action, "a closure for \(Info.self)", rule, LaneOptions(options), call)
    }

    /// Registers an asynchronous closure. It is called in its own isolation.
    @inlinable
    public init<Info: Decodable & Sendable>(
        _ action: ActionName,
        as info: Info.Type,
        from rule: AccessRule,
        options: PluginOptions<Info> = PluginOptions(),
        _ handler: @escaping @Sendable (Info, ActionContext) async throws -> Void
    ) {
        let call = PluginCall.make(options.order, reply: { _ in nil }, handler)
        self.init(action, "a closure for \(Info.self)", rule, LaneOptions(options), call)
    }

    /// Registers an asynchronous closure whose return value is sent as a JSON reply.
    @inlinable
    public init<Info: Decodable & Sendable, Reply: Encodable & Sendable>(
        _ action: ActionName,
        as info: Info.Type,
        from rule: AccessRule,
        options: PluginOptions<Info> = PluginOptions(),
        _ handler: @escaping @Sendable (Info, ActionContext) async throws -> Reply
    ) {
        let call = PluginCall.make(options.order, reply: { try BodyWriter.write($0) }, handler)
        self.init(action, "a closure for \(Info.self)", rule, LaneOptions(options), call)
    }
}

// MARK: - Plugins

extension Registration {
    /// Registers a plugin for its action.
    ///
    /// - Parameters:
    ///   - plugin: The plugin, called with the order and concurrency of the options.
    ///   - rule: The origins that may call the plugin; all others are rejected.
    ///   - options: Timeout, order, concurrency, retries, circuit breaker and middleware.
    @inlinable
    public init<P: Plugin>(
        _ plugin: P,
        from rule: AccessRule,
        options: PluginOptions<P.Info> = PluginOptions()
    ) where P.Reply == Void {
        let call = PluginCall.make(options.order, reply: { _ in nil }) { (info: P.Info, context) async throws -> Void in
            try await plugin.callAsAction(info, context: context)
        }
        self.init(plugin.action, "\(P.self)", rule, LaneOptions(options), call)
    }

    /// Registers a plugin whose reply is sent as JSON.
    @inlinable
    public init<P: Plugin>(
        _ plugin: P,
        from rule: AccessRule,
        options: PluginOptions<P.Info> = PluginOptions()
    ) where P.Reply: Encodable {
        let call = PluginCall.make(options.order, reply: { try BodyWriter.write($0) }) {
            (info: P.Info, context) async throws -> P.Reply in
            try await plugin.callAsAction(info, context: context)
        }
        self.init(plugin.action, "\(P.self)", rule, LaneOptions(options), call)
    }

    /// Registers a synchronous plugin.
    @inlinable
    public init<P: SyncPlugin>(
        _ plugin: P,
        from rule: AccessRule,
        options: PluginOptions<P.Info> = PluginOptions()
    ) where P.Reply == Void {
        let call = PluginCall.make(options.order, reply: { _ in nil }) { (info: P.Info, context) throws -> Void in
            try plugin.callAsAction(info, context: context)
        }
        self.init(plugin.action, "\(P.self)", rule, LaneOptions(options), call)
    }

    /// Registers a synchronous plugin whose reply is sent as JSON.
    @inlinable
    public init<P: SyncPlugin>(
        _ plugin: P,
        from rule: AccessRule,
        options: PluginOptions<P.Info> = PluginOptions()
    ) where P.Reply: Encodable {
        let call = PluginCall.make(options.order, reply: { try BodyWriter.write($0) }) {
            (info: P.Info, context) throws -> P.Reply in
            try plugin.callAsAction(info, context: context)
        }
        self.init(plugin.action, "\(P.self)", rule, LaneOptions(options), call)
    }

    /// Registers a plugin that handles its actions of a batch together.
    ///
    /// - Parameters:
    ///   - plugin: The plugin, called with one batch at a time per source, in order.
    ///   - rule: The origins that may call the plugin; all others are rejected.
    ///   - options: As for other plugins. The timeout covers the batch, and failed actions are retried in one call.
    /// - Precondition: The options have no key and no middleware, because one call handles many actions.
    @inlinable
    public init<P: BatchPlugin>(
        _ plugin: P,
        from rule: AccessRule,
        options: PluginOptions<P.Info> = PluginOptions()
    ) {
        if case .key = options.order.rule {
            preconditionFailure("a BatchPlugin has no key: its batches hold many keys")
        }
        precondition(options.middleware.isEmpty, "the calls of a BatchPlugin pass no middleware")
        let call = PluginCall.makeBatch { (batch: [(info: P.Info, context: ActionContext)]) async throws -> Void in
            try await plugin.callAsActions(batch)
        }
        self.init(plugin.action, "\(P.self)", rule, LaneOptions(options), call)
    }
}

// MARK: - Changes

/// A change of a supervisor's plugins.
public enum PluginChange: Sendable {
    /// Adds a plugin for an action that has none.
    case add(Registration)
    /// Replaces the plugin of the same action.
    case replace(Registration)
    /// Removes the plugin of an action.
    case remove(ActionName)
}

extension Supervisor {
    /// Registers a plugin, also while messages flow.
    ///
    /// - Parameters:
    ///   - registration: The plugin, its rule and its options.
    ///   - replacing: Whether to replace the plugin registered for the action. The old plugin handles the actions that
    ///     wait for it; the new one receives later arrivals. If both are ordered, the new one starts after everything of
    ///     the old one is settled. An overdue call that has not returned is not awaited.
    /// - Throws: ``RegistrationError/duplicateAction(_:holder:)`` if the action is taken and `replacing` is `false`;
    ///   the first registration stays. ``RegistrationError/noSuchAction(_:)`` if there is no plugin to replace.
    public func register(_ registration: Registration, replacing: Bool = false) throws(RegistrationError) {
        try apply([replacing ? .replace(registration) : .add(registration)])
    }

    /// Removes the plugin of an action, while messages flow. It still handles the actions that wait for it.
    ///
    /// - Throws: ``RegistrationError/noSuchAction(_:)`` if no plugin is registered for the action.
    public func remove(_ action: ActionName) throws(RegistrationError) {
        try apply([.remove(action)])
    }

    /// Changes several plugins in one step, while messages flow. Each message is routed either by all the old plugins
    /// or by all the new ones, and never finds a plugin missing in between.
    ///
    /// ```swift
    /// try supervisor.apply([
    ///     .remove("loading"),
    ///     .add(Registration(ShowProgress(), from: .source("page"))),
    ///     .replace(Registration(Payment(limit: 100), from: .source("page"))),
    /// ])
    /// ```
    ///
    /// A replaced or removed plugin still handles the actions that wait for it, and a replacement starts after it, as
    /// with ``register(_:replacing:)``. Removing and adding an action in one step is the same as replacing it.
    ///
    /// - Parameter changes: The changes, applied in order. Each one sees the changes before it.
    /// - Throws: ``RegistrationError``; nothing has changed then.
    public func apply(_ changes: [PluginChange]) throws(RegistrationError) {
        for entry in try registry.apply(changes, core.configuration) {
            // The registry has dropped it: an intake that still routes by the old table ends before it forgets the lane.
            for intake in state.withLock({ Array($0.intakes.values) }) { intake.forgetLane(of: entry) }
            lanes.retire(entry)
        }
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
