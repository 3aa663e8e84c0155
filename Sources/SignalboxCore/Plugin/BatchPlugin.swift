/// A plugin whose work costs about the same for many actions as for one, such as making them durable with one fsync.
///
/// It is called with what one submitted batch holds for it, in order.
public protocol BatchPlugin<Info>: Sendable {
    /// What each body is decoded into; a body that does not fit is rejected by itself and left out.
    associatedtype Info: Decodable & Sendable

    /// The name this plugin is registered for.
    nonisolated var action: ActionName { get }

    /// Handles the actions together. The timeout counts for the whole call.
    ///
    /// - Parameter batch: at least one action.
    /// - Throws: any error; the outcome of every action of the batch is then `failed`.
    func callAsActions(_ batch: [(info: Info, context: ActionContext)]) async throws
}
