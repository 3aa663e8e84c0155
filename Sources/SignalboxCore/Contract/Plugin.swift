/// Handles the actions that have a particular name. Before each call, the action's body is decoded as the plugin's
/// `Info` type.
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
/// Conform a `struct`, a `final class` or a `@MainActor` class. By default, a source's actions are handled one at a
/// time and in order. If a plugin never suspends, conform to ``SyncPlugin`` instead.
public protocol Plugin<Info>: Sendable {
    /// The type to decode from the body before the call. If decoding fails, the action is rejected.
    associatedtype Info: Decodable & Sendable
    /// The reply to the sender: either `Void`, or an `Encodable` type that is sent as JSON.
    associatedtype Reply: Sendable = Void

    /// The name of the action that the plugin handles.
    nonisolated var action: ActionName { get }

    /// Handles one action.
    ///
    /// - Throws: Any error. The action's outcome is then `failed`. Throw a ``RetryableError`` to allow a retry.
    func callAsAction(_ info: Info, context: ActionContext) async throws -> Reply
}

/// A plugin that never suspends and can therefore be called faster than a ``Plugin``.
///
/// Use it for short work, such as computing a value or updating data in memory. The call must return quickly, because
/// it occupies its lane's thread.
public protocol SyncPlugin<Info>: Sendable {
    /// The type to decode from the body before the call. If decoding fails, the action is rejected.
    associatedtype Info: Decodable & Sendable
    /// The reply to the sender: either `Void`, or an `Encodable` type that is sent as JSON.
    associatedtype Reply: Sendable = Void

    /// The name of the action that the plugin handles.
    nonisolated var action: ActionName { get }

    /// Handles one action.
    ///
    /// - Throws: Any error. The action's outcome is then `failed`.
    func callAsAction(_ info: Info, context: ActionContext) throws -> Reply
}

/// A plugin that can handle many actions for about the cost of one, for example by making them durable with a single
/// fsync.
///
/// Each call receives, in order, all actions for this plugin that its source submitted together, and those that the
/// source submitted behind them before the call. They are never more than the source's window.
public protocol BatchPlugin<Info>: Sendable {
    /// The type to decode from each body. If a body cannot be decoded, only that action is rejected and left out of the
    /// call.
    associatedtype Info: Decodable & Sendable

    /// The name of the action that the plugin handles.
    nonisolated var action: ActionName { get }

    /// Handles the actions together. The timeout applies to the whole call.
    ///
    /// - Parameter batch: The decoded actions with their contexts. The array is never empty.
    /// - Throws: Any error. The outcome of every action in the batch is then `failed`.
    func callAsActions(_ batch: [(info: Info, context: ActionContext)]) async throws
}

/// Information about a call to a plugin: the action, and everything else except the decoded `Info`.
public struct ActionContext: Sendable {
    package private(set) var arrival: Arrival
    /// The object that runs the call. The `Signalbox` module uses it to find the context's logger.
    package let host: (any AnyObject & Sendable)?

    /// The number of the attempt, which is 1 for the first call and higher for retries.
    public let attempt: Int

    package init(arrival: Arrival, host: (any AnyObject & Sendable)?, attempt: Int = 1) {
        self.arrival = arrival
        self.host = host
        self.attempt = attempt
    }

    /// Exchanges the arrival for another one. If both are of one batch, no reference is counted.
    package mutating func move(to position: Int, of arrivals: [Arrival]) {
        if arrivals[position].storage === arrival.storage {
            arrival.index = arrivals[position].index
            arrival.isRedelivered = arrivals[position].isRedelivered
        } else {
            arrival = arrivals[position]
        }
    }

    /// Whether the message is dispatched again, from the journal of its source or from its dead letters
    /// (``Arrival/isRedelivered``). The plugin may have been called for it before.
    public var isRedelivered: Bool { arrival.isRedelivered }

    /// The action that the plugin handles.
    public var action: Action { arrival.uncheckedAction }

    /// The body from which the plugin's `Info` was decoded.
    public var body: Body {
        Body(storage: arrival.storage, node: arrival.storage.records[Int(arrival.index)].body)
    }

    /// The source, and the facts about the sender.
    public var origin: Origin { arrival.origin }

    /// The id supplied by the sender, or an id assigned by Signalbox if the sender supplied none.
    public var id: ActionID { action.id }

    /// The action's deadline, or `nil` if the sender set no limit.
    public var deadline: ContinuousClock.Instant? { action.deadline }

    /// A channel to the sender, or `nil` if the source cannot send unsolicited messages.
    public var sender: (any Sender)? { arrival.sender }
}

/// An error that a plugin throws to control whether its call is retried, and what happens to the action if it is not.
///
/// Errors of other types are final: the plugin is not called again, and the message becomes a dead letter.
public protocol RetryableError: Error {
    /// Whether the same call may succeed later, for example after a refused connection.
    var isRetryable: Bool { get }
    /// What happens to the action after its last attempt.
    var whenExhausted: RetryExhaustion { get }
    /// How long the next attempt must wait at least, for example because a server has asked for it, or `nil` for the wait of the
    /// retry policy alone.
    ///
    /// The policy's random wait is added, so that clients that received the same delay do not return at once. At most an hour counts.
    /// If the wait is longer than the ack deadline or the policy's limit permits, there is no further attempt.
    var retryDelay: Duration? { get }
}

extension RetryableError {
    /// Always `true`.
    public var isRetryable: Bool { true }
    /// Always ``RetryExhaustion/deadLetter``.
    public var whenExhausted: RetryExhaustion { .deadLetter }
    /// Always `nil`.
    public var retryDelay: Duration? { nil }
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
