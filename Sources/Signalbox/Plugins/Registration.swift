public import SignalboxCore
import Synchronization

/// A plugin together with its action, access rule and options.
///
/// A registration is a plain value, and has no effect until you register it with a supervisor. You can therefore
/// register the same value with several supervisors, or pass it to `PluginTester` in a test.
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
    /// The description of the plugin, which appears in the error that a second registration for the same action throws.
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
        guard options.runsInline else { return }
        guard case .sync = call else { preconditionFailure("only a synchronous plugin without a key runs inline") }
        precondition(
            options.order == .source && options.maxConcurrent == 1 && options.middleware.isEmpty,
            "a plugin that runs inline has the order .source, one call at once and no middleware"
        )
    }
}

extension Registration {
    /// Returns the registration with another description of the plugin, which explanations and errors show.
    package func described(as holder: String) -> Registration {
        Registration(action, holder, rule, options, call)
    }
}

// MARK: - Closures

extension Registration {
    /// Creates a registration for a synchronous closure. Swift selects this initializer if the closure contains no
    /// `await`.
    ///
    /// - Parameters:
    ///   - action: The action to handle.
    ///   - info: The type that the body is decoded as. If a body does not match, the action is rejected without calling
    ///     the closure.
    ///   - rule: The origins that may call the plugin. All other origins are rejected.
    ///   - options: The timeout, order, concurrency, retries, circuit breaker and middleware.
    ///   - handler: The closure, which is called on any thread, in the order and with the concurrency that the options
    ///     set.
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

    /// Creates a registration for a synchronous closure whose return value is sent as a JSON reply.
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

    /// Creates a registration for an asynchronous closure, which is called in its own isolation.
    @inlinable
    public init<Info: Decodable & Sendable>(
        _ action: ActionName,
        as info: Info.Type,
        from rule: AccessRule,
        options: PluginOptions<Info> = PluginOptions(),
        _ handler: @escaping @Sendable (Info, ActionContext) async throws -> Void
    ) {
        let call = PluginCall.make(options.order, handler)
        self.init(action, "a closure for \(Info.self)", rule, LaneOptions(options), call)
    }

    /// Creates a registration for an asynchronous closure whose return value is sent as a JSON reply.
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

extension Registration {
    /// Creates a registration for a synchronous closure that takes any body and returns its reply as JSON text, which
    /// the sender receives unchanged, or `nil` for no reply. The closure must return valid JSON.
    package init(
        _ action: ActionName,
        from rule: AccessRule,
        options: PluginOptions<RawBody>,
        replyingWithJSON handler: @escaping @Sendable (RawBody, ActionContext) throws -> Bytes?
    ) {
        let call = PluginCall.make(options.order, reply: { $0 }, handler)
        self.init(action, "a closure for \(RawBody.self)", rule, LaneOptions(options), call)
    }

    /// Creates a registration for an asynchronous closure that takes any body and returns its reply as JSON text, which
    /// the sender receives unchanged, or `nil` for no reply. The closure must return valid JSON.
    package init(
        _ action: ActionName,
        from rule: AccessRule,
        options: PluginOptions<RawBody>,
        replyingWithJSON handler: @escaping @Sendable (RawBody, ActionContext) async throws -> Bytes?
    ) {
        let call = PluginCall.make(options.order, reply: { $0 }, handler)
        self.init(action, "a closure for \(RawBody.self)", rule, LaneOptions(options), call)
    }
}

// MARK: - Plugins

extension Registration {
    /// Creates a registration for a plugin and the action that the plugin declares.
    ///
    /// - Parameters:
    ///   - plugin: The plugin, which is called in the order and with the concurrency that the options set.
    ///   - rule: The origins that may call the plugin. All other origins are rejected.
    ///   - options: The timeout, order, concurrency, retries, circuit breaker and middleware.
    @inlinable
    public init<P: Plugin>(
        _ plugin: P,
        from rule: AccessRule,
        options: PluginOptions<P.Info> = PluginOptions()
    ) where P.Reply == Void {
        let call = PluginCall.make(options.order) { (info: P.Info, context) async throws -> Void in
            try await plugin.callAsAction(info, context: context)
        }
        self.init(plugin.action, "\(P.self)", rule, LaneOptions(options), call)
    }

    /// Creates a registration for a plugin whose reply is sent as JSON.
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

    /// Creates a registration for a synchronous plugin.
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

    /// Creates a registration for a synchronous plugin whose reply is sent as JSON.
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

    /// Creates a registration for a plugin that handles all its actions in a batch together.
    ///
    /// - Parameters:
    ///   - plugin: The plugin, which is called with one batch at a time per source, in order.
    ///   - rule: The origins that may call the plugin. All other origins are rejected.
    ///   - options: The same options as for other plugins. The timeout covers the whole batch, and failed actions are
    ///     retried in one call.
    /// - Precondition: The options have no key and no middleware, because a single call handles many actions, and the plugin
    ///   does not run inline.
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

/// A change to a supervisor's plugins, for use with ``Supervisor/apply(_:)``.
public enum PluginChange: Sendable {
    /// Adds a plugin for an action that does not have one.
    case add(Registration)
    /// Replaces the plugin that is registered for the same action.
    case replace(Registration)
    /// Removes the plugin for an action.
    case remove(ActionName)
}

extension Supervisor {
    /// Registers a plugin. You can call this method at any time, including while messages are being processed.
    ///
    /// - Parameters:
    ///   - registration: The plugin, its rule and its options.
    ///   - replacing: Whether to replace the plugin that is registered for the action. The old plugin still handles the
    ///     actions that were already queued for it, and the new plugin receives later arrivals. If both plugins are
    ///     ordered, the new plugin starts when everything for the old plugin has been settled, without waiting for
    ///     overdue calls that have not returned.
    /// - Throws:
    ///   - ``RegistrationError/duplicateAction(_:holder:)`` if the action already has a plugin and `replacing` is
    ///     `false`. The existing plugin stays registered.
    ///   - ``RegistrationError/noSuchAction(_:)`` if there is no plugin to replace.
    public func register(_ registration: Registration, replacing: Bool = false) throws(RegistrationError) {
        try apply([replacing ? .replace(registration) : .add(registration)])
    }

    /// Unregisters the plugin for an action. The plugin still handles actions that were already queued for it. You can
    /// call this method while messages are being processed.
    ///
    /// - Throws: ``RegistrationError/noSuchAction(_:)`` if no plugin is registered for the action.
    public func remove(_ action: ActionName) throws(RegistrationError) {
        try apply([.remove(action)])
    }

    /// Changes several plugins in one step, even while messages are being processed. Use this method to exchange a set
    /// of plugins. Every message is routed either by all the old plugins or by all the new ones, so no plugin is
    /// missing in between.
    ///
    /// ```swift
    /// try supervisor.apply([
    ///     .remove("loading"),
    ///     .add(Registration(ShowProgress(), from: .source("page"))),
    ///     .replace(Registration(Payment(limit: 100), from: .source("page"))),
    /// ])
    /// ```
    ///
    /// A plugin that is replaced or removed still handles the actions that were already queued for it, and its
    /// replacement starts afterwards, as with ``register(_:replacing:)``. Removing and adding an action's plugin in one
    /// step has the same effect as replacing it.
    ///
    /// - Parameter changes: The changes, which are applied in order. Each change builds on the result of the previous
    ///   ones.
    /// - Throws: ``RegistrationError`` if any of the changes is not possible, in which case no plugin is changed.
    public func apply(_ changes: [PluginChange]) throws(RegistrationError) {
        let lost = try registry.apply(changes, core.configuration)
        if !lost.isEmpty {
            // The registry no longer contains the plugins. An intake may still be routing with the old table, but
            // finishes that before it forgets the lanes.
            for intake in state.withLock({ $0.sources.all }) { intake.forgetLanes(of: lost) }
            for entry in lost { lanes.retire(entry) }
        }
        for intake in state.withLock({ $0.holding.all }) { intake.routeHeld(at: core.now) }
    }
}

/// The reason why plugins, sources or middleware could not be added or changed, or why a supervisor could not run.
public enum RegistrationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The action already has a plugin, which stays registered.
    case duplicateAction(ActionName, holder: String)
    /// The action has no plugin.
    case noSuchAction(ActionName)
    /// The action's plugin handles whole batches, so its calls pass through no middleware.
    case middlewareUnsupported(ActionName)
    /// The source has already been added, and is not affected.
    case duplicateSource(SourceName)
    /// The source cannot have a journal, because the supervisor has no store, or because the adapter cannot read stored messages
    /// again.
    case journalUnavailable(SourceName)
    /// The supervisor is draining or has stopped. When thrown by ``Supervisor/run()``, the supervisor is running or has
    /// run before.
    case closed

    /// Describes the problem and how to solve it. Ends with the code, such as `[RegistrationError.closed]`.
    public var description: String { coded(detail) }

    private var detail: String {
        switch self {
        case .duplicateAction(let action, let holder):
            "action \(action) is already served by \(holder); remove or replace it first"
        case .noSuchAction(let action): "no plugin is registered for action \(action)"
        case .middlewareUnsupported(let action):
            "the calls of the BatchPlugin for action \(action) pass no middleware; observe its outcomes instead"
        case .duplicateSource(let source): "a source named \(source) already exists; give each source its own name"
        case .journalUnavailable(let source):
            "the source \(source) cannot have a journal; give the supervisor a store, and use an adapter that is a "
                + "RestoringAdapter"
        case .closed: "the supervisor is closing; register before it drains"
        }
    }
}

extension RegistrationError: CodedError {
    /// The name of the case.
    package var codeName: String {
        switch self {
        case .duplicateAction: "duplicateAction"
        case .noSuchAction: "noSuchAction"
        case .middlewareUnsupported: "middlewareUnsupported"
        case .duplicateSource: "duplicateSource"
        case .journalUnavailable: "journalUnavailable"
        case .closed: "closed"
        }
    }
}
