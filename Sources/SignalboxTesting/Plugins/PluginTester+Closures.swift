import Signalbox
public import SignalboxCore

extension PluginTester {
    /// Asks a closure that works without waiting. A closure without `await` picks this form.
    ///
    /// - Parameters:
    ///   - action: the name it is registered for.
    ///   - info: what a body is decoded into.
    ///   - handler: what is asked.
    public init<Info: Decodable & Sendable>(
        _ action: ActionName,
        as info: Info.Type,
        _ handler: @escaping @Sendable (Info, ActionContext) throws -> Void
    ) {
        self.init(action) { supervisor throws(RegistrationError) in
            try supervisor.register(action, as: info, from: PluginTester.anyOrigin, handler)
        }
    }

    /// Asks a closure that works without waiting and answers with a value that is sent as JSON.
    public init<Info: Decodable & Sendable, Reply: Encodable & Sendable>(
        _ action: ActionName,
        as info: Info.Type,
        _ handler: @escaping @Sendable (Info, ActionContext) throws -> Reply
    ) {
        self.init(action) { supervisor throws(RegistrationError) in
            try supervisor.register(action, as: info, from: PluginTester.anyOrigin, handler)
        }
    }

    /// Asks a closure that may wait.
    public init<Info: Decodable & Sendable>(
        _ action: ActionName,
        as info: Info.Type,
        _ handler: @escaping @Sendable (Info, ActionContext) async throws -> Void
    ) {
        self.init(action) { supervisor throws(RegistrationError) in
            try supervisor.register(action, as: info, from: PluginTester.anyOrigin, handler)
        }
    }

    /// Asks a closure that may wait and answers with a value that is sent as JSON.
    public init<Info: Decodable & Sendable, Reply: Encodable & Sendable>(
        _ action: ActionName,
        as info: Info.Type,
        _ handler: @escaping @Sendable (Info, ActionContext) async throws -> Reply
    ) {
        self.init(action) { supervisor throws(RegistrationError) in
            try supervisor.register(action, as: info, from: PluginTester.anyOrigin, handler)
        }
    }
}
