/// Does the work of one action. The body arrives validated, as a value of `Info`.
///
/// Conform a `struct`, a `final class` or a `@MainActor` class; calls from one source come one at a time, in order.
public protocol Plugin<Info>: Sendable {
    /// What the body is decoded into before the plugin is called; a body that does not fit is rejected.
    associatedtype Info: Decodable & Sendable
    /// What the caller is answered: `Void`, or an `Encodable` that is sent as JSON.
    associatedtype Reply: Sendable = Void

    /// The name this plugin is registered for.
    nonisolated var action: ActionName { get }

    /// Handles one action.
    ///
    /// - Throws: any error; the outcome is then `failed`.
    func callAsAction(_ info: Info, context: ActionContext) async throws -> Reply
}
