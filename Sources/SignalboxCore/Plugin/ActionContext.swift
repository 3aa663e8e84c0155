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
