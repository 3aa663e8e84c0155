/// A handler for one action. Its body arrives validated, as a value of `Info`.
///
/// Conform a `struct`, `final class` or `@MainActor` class. By default, a source's calls run one at a time in order.
public protocol Plugin<Info>: Sendable {
    /// The type decoded from the body before the call. A body that does not decode is rejected.
    associatedtype Info: Decodable & Sendable
    /// The reply to the sender: `Void`, or an `Encodable` that is sent as JSON.
    associatedtype Reply: Sendable = Void

    /// The name for which the plugin is registered.
    nonisolated var action: ActionName { get }

    /// Handles one action.
    ///
    /// - Throws: Any error. The outcome is then `failed`.
    func callAsAction(_ info: Info, context: ActionContext) async throws -> Reply
}

/// A ``Plugin`` that never suspends, for speed. It must return quickly because it occupies its lane's thread.
public protocol SyncPlugin<Info>: Sendable {
    /// The type decoded from the body before the call. A body that does not decode is rejected.
    associatedtype Info: Decodable & Sendable
    /// The reply to the sender: `Void`, or an `Encodable` that is sent as JSON.
    associatedtype Reply: Sendable = Void

    /// The name for which the plugin is registered.
    nonisolated var action: ActionName { get }

    /// Handles one action.
    ///
    /// - Throws: Any error. The outcome is then `failed`.
    func callAsAction(_ info: Info, context: ActionContext) throws -> Reply
}

/// A plugin that handles many actions at about the cost of one, for example by making them durable with one fsync.
///
/// Each call receives the plugin's actions from one submitted batch, in order.
public protocol BatchPlugin<Info>: Sendable {
    /// The type decoded from each body. A body that does not decode is rejected alone and left out of the call.
    associatedtype Info: Decodable & Sendable

    /// The name for which the plugin is registered.
    nonisolated var action: ActionName { get }

    /// Handles the actions together. The timeout applies to the whole call.
    ///
    /// - Parameter batch: The actions, at least one.
    /// - Throws: Any error. The outcome of every action in the batch is then `failed`.
    func callAsActions(_ batch: [(info: Info, context: ActionContext)]) async throws
}

/// The context of a call: the action and everything about it besides its `Info`.
public struct ActionContext: Sendable {
    package let arrival: Arrival
    /// The object that runs the call. The `Signalbox` module finds the logger through it.
    package let host: (any AnyObject & Sendable)?

    /// The number of the attempt: 1 for the first call, higher for retries.
    public let attempt: Int

    package init(arrival: Arrival, host: (any AnyObject & Sendable)?, attempt: Int = 1) {
        self.arrival = arrival
        self.host = host
        self.attempt = attempt
    }

    /// The action.
    public var action: Action { arrival.uncheckedAction }

    /// The body from which the plugin's `Info` was decoded.
    public var body: Body {
        Body(storage: arrival.storage, node: arrival.storage.records[Int(arrival.index)].body)
    }

    /// The source and its facts.
    public var origin: Origin { arrival.origin }

    /// The sender's id, or an assigned one if the sender supplied none.
    public var id: ActionID { action.id }

    /// The action's deadline, or `nil` when the sender set no limit.
    public var deadline: ContinuousClock.Instant? { action.deadline }

    /// A channel to the arrival's sender, or `nil` when the source cannot send unsolicited messages.
    public var sender: (any Sender)? { arrival.sender }
}

/// A plugin's error that controls whether the call is retried and what happens to the action otherwise.
///
/// Errors of other types are final: the plugin is not called again, and the message becomes a dead letter.
public protocol RetryableError: Error {
    /// Whether the same call may succeed later, for example after a refused connection.
    var isRetryable: Bool { get }
    /// What happens to the action after its last attempt.
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

    /// The action fails. Its message becomes a dead letter and is acknowledged.
    public static let deadLetter = RetryExhaustion(choice: .deadLetter)
    /// The action is abandoned. Its message is not acknowledged, and the source redelivers it after a pause. For faults
    /// unrelated to the message, such as a full disk. Without redelivery the message becomes a dead letter.
    public static let abandon = RetryExhaustion(choice: .abandon)

    /// `deadLetter` or `abandon`.
    public var description: String { choice.rawValue }
}
