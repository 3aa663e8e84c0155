/// A handler for one action, which receives the body of the action as a value of its `Info` type.
///
/// ```swift
/// struct Payment: Decodable, Sendable {
///     let amount: Int
/// }
///
/// struct PaymentPlugin: Plugin {
///     let action: ActionName = "payment"
///
///     func callAsAction(_ info: Payment, context: ActionContext) async throws {
///         print("\(context.origin.source) paid \(info.amount)")
///     }
/// }
/// ```
///
/// Conform a `struct`, a `final class` or a `@MainActor` class. By default, the actions of a source are handled one at
/// a time and in order. If a plugin never suspends, conform to ``SyncPlugin`` instead.
public protocol Plugin<Info>: Sendable {
    /// The type that is decoded from the body before the call. An action whose body does not decode is rejected.
    associatedtype Info: Decodable & Sendable
    /// The reply to the sender, which is `Void` or an `Encodable` type that is sent as JSON.
    associatedtype Reply: Sendable = Void

    /// The name of the action that the plugin handles.
    nonisolated var action: ActionName { get }

    /// Handles one action.
    ///
    /// - Throws: Any error. The outcome of the action is then `failed`. Throw a ``RetryableError`` to allow a retry.
    func callAsAction(_ info: Info, context: ActionContext) async throws -> Reply
}

/// A ``Plugin`` that never suspends, which makes its calls faster.
///
/// Use it for short work, such as computing a value or changing memory. The call must return quickly, because it
/// occupies the thread of its lane.
public protocol SyncPlugin<Info>: Sendable {
    /// The type that is decoded from the body before the call. An action whose body does not decode is rejected.
    associatedtype Info: Decodable & Sendable
    /// The reply to the sender, which is `Void` or an `Encodable` type that is sent as JSON.
    associatedtype Reply: Sendable = Void

    /// The name of the action that the plugin handles.
    nonisolated var action: ActionName { get }

    /// Handles one action.
    ///
    /// - Throws: Any error. The outcome of the action is then `failed`.
    func callAsAction(_ info: Info, context: ActionContext) throws -> Reply
}

/// A plugin that handles many actions at about the cost of one, for example by making them durable with one fsync.
///
/// Each call receives those actions of one submitted batch that are for the plugin, in order.
public protocol BatchPlugin<Info>: Sendable {
    /// The type that is decoded from each body. If a body does not decode, only its action is rejected and left out of
    /// the call.
    associatedtype Info: Decodable & Sendable

    /// The name of the action that the plugin handles.
    nonisolated var action: ActionName { get }

    /// Handles the actions together. The timeout applies to the whole call.
    ///
    /// - Parameter batch: The actions, of which there is at least one.
    /// - Throws: Any error. The outcome of every action in the batch is then `failed`.
    func callAsActions(_ batch: [(info: Info, context: ActionContext)]) async throws
}

/// The context of a call, which contains the action and everything about the call except the decoded `Info`.
public struct ActionContext: Sendable {
    package let arrival: Arrival
    /// The object that runs the call. The `Signalbox` module finds the logger of the context through it.
    package let host: (any AnyObject & Sendable)?

    /// The number of the attempt, which is 1 for the first call and higher for retries.
    public let attempt: Int

    package init(arrival: Arrival, host: (any AnyObject & Sendable)?, attempt: Int = 1) {
        self.arrival = arrival
        self.host = host
        self.attempt = attempt
    }

    /// The action that the plugin handles.
    public var action: Action { arrival.uncheckedAction }

    /// The body from which the plugin's `Info` was decoded.
    public var body: Body {
        Body(storage: arrival.storage, node: arrival.storage.records[Int(arrival.index)].body)
    }

    /// The source and its facts.
    public var origin: Origin { arrival.origin }

    /// The id that the sender supplied, or an assigned id if the sender supplied none.
    public var id: ActionID { action.id }

    /// The deadline of the action, or `nil` when the sender set no limit.
    public var deadline: ContinuousClock.Instant? { action.deadline }

    /// A channel to the sender of the arrival, or `nil` when the source cannot send unsolicited messages.
    public var sender: (any Sender)? { arrival.sender }
}

/// An error with which a plugin controls whether its call is retried, and what happens to the action otherwise.
///
/// Errors of other types are final. After such an error the plugin is not called again, and the message becomes a dead
/// letter.
public protocol RetryableError: Error {
    /// Whether the same call may succeed later, for example after a refused connection.
    var isRetryable: Bool { get }
    /// What happens to the action after its last attempt.
    var whenExhausted: RetryExhaustion { get }
}

extension RetryableError {
    /// Always `true`.
    public var isRetryable: Bool { true }
    /// Always ``RetryExhaustion/deadLetter``.
    public var whenExhausted: RetryExhaustion { .deadLetter }
}

/// What happens to an action after its last failed attempt.
public struct RetryExhaustion: Sendable, Hashable, CustomStringConvertible {
    private enum Choice: String { case deadLetter, abandon }
    private let choice: Choice

    /// The action fails. Its message becomes a dead letter and is acknowledged.
    public static let deadLetter = RetryExhaustion(choice: .deadLetter)
    /// The action is abandoned. Its message is not acknowledged, so the source redelivers it after a pause.
    ///
    /// Use this for faults that are unrelated to the message, such as a full disk. If the source does not redeliver,
    /// the message becomes a dead letter.
    public static let abandon = RetryExhaustion(choice: .abandon)

    /// `deadLetter` or `abandon`.
    public var description: String { choice.rawValue }
}
