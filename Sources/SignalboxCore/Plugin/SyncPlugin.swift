/// A ``Plugin`` whose work never waits: the fast form. It must return soon, as it holds its lane's thread.
public protocol SyncPlugin<Info>: Sendable {
    /// What the body is decoded into before the plugin is called; a body that does not fit is rejected.
    associatedtype Info: Decodable & Sendable
    /// What the caller is answered: `Void`, or an `Encodable` that is sent as JSON.
    associatedtype Reply: Sendable = Void

    /// The name this plugin is registered for.
    nonisolated var action: ActionName { get }

    /// Handles one action.
    ///
    /// - Throws: any error; the outcome is then `failed`.
    func callAsAction(_ info: Info, context: ActionContext) throws -> Reply
}
