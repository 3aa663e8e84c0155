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

/// What a plugin is told about the action besides its `Info`.
public struct ActionContext: Sendable {
    package let arrival: Arrival
    /// Whoever runs the call; `Signalbox` finds the logger through it.
    package let host: (any AnyObject & Sendable)?

    /// Which call for this action it is: 1, and more when earlier ones failed and were retried.
    public let attempt: Int

    package init(arrival: Arrival, host: (any AnyObject & Sendable)?, attempt: Int = 1) {
        self.arrival = arrival
        self.host = host
        self.attempt = attempt
    }

    /// The action as it arrived.
    public var action: Action { arrival.uncheckedAction }

    /// What the plugin's `Info` was made from.
    public var body: Body {
        Body(storage: arrival.storage, node: arrival.storage.records[Int(arrival.index)].body)
    }

    /// The source and its facts.
    public var origin: Origin { arrival.origin }

    /// The sender's id, or the one assigned when it sent none.
    public var id: ActionID { action.id }

    /// When the answer is too late, or `nil` when the sender set no limit.
    public var deadline: ContinuousClock.Instant? { action.deadline }

    /// The way back to whoever sent it, or `nil` when this source cannot be spoken to unasked.
    public var sender: (any Sender)? { arrival.sender }
}

/// An error of a plugin that says whether the same call may succeed later, and what happens to the action if it does not.
///
/// Errors of other types are final: the plugin is not called again, and the message becomes a dead letter.
public protocol RetryableError: Error {
    /// Whether the same call may succeed later, as after a connection that was refused.
    var isRetryable: Bool { get }
    /// What happens to the action once no attempt is left.
    var whenExhausted: RetryExhaustion { get }
}

extension RetryableError {
    /// `true`.
    public var isRetryable: Bool { true }
    /// `deadLetter`.
    public var whenExhausted: RetryExhaustion { .deadLetter }
}

/// What happens to an action after its last failed attempt.
public struct RetryExhaustion: Sendable, Hashable, CustomStringConvertible {
    private enum Choice: String { case deadLetter, abandon }
    private let choice: Choice

    /// The action fails: its message is kept as a dead letter and acknowledged.
    public static let deadLetter = RetryExhaustion(choice: .deadLetter)
    /// The action is abandoned: its message is not acknowledged, and the source sends it again after a pause. For faults that have
    /// nothing to do with the message, such as a full disk. If the source cannot send it again, the message becomes a dead letter.
    public static let abandon = RetryExhaustion(choice: .abandon)

    /// `deadLetter` or `abandon`.
    public var description: String { choice.rawValue }
}
