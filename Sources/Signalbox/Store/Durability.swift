/// Determines whether a source's messages are written to disk before they are acknowledged.
public struct SourceDurability: Sendable, Hashable {
    let limits: JournalLimits?

    /// Messages are kept in memory. A source that redelivers keeps its messages until they are handled, and no other source has
    /// its messages kept.
    public static let none = SourceDurability(limits: nil)

    /// Messages are committed to the journal of the supervisor's store (``SupervisorConfiguration/store``) before they are
    /// acknowledged, and dispatched from there.
    ///
    /// - A message leaves the journal when it is handled, or together with its dead letter. Messages that are left when the program
    ///   ends are dispatched again by the next run, in order, with `Arrival.isRedelivered`.
    /// - There is no ack deadline, so calls and retries may take as long as the plugin's options allow.
    /// - If a plugin gives a message back (`RetryExhaustion.abandon`), or middleware abandons it, the journal dispatches it again,
    ///   after 1 s at first and then at growing intervals up to 5 min. Later messages do not wait for it.
    /// - If the program ends three times while it handles a message, the message becomes a dead letter with the reason
    ///   `crashedPlugin`.
    ///
    /// - Parameter limits: The limits of the journal. At a limit, the source is held back and nothing is dropped.
    public static func journal(_ limits: JournalLimits = JournalLimits()) -> SourceDurability {
        SourceDurability(limits: limits)
    }
}

/// Limits what one source has in the journal. At each limit, the supervisor takes no more messages from the source until there is
/// room. Nothing is dropped.
public struct JournalLimits: Sendable, Hashable {
    /// The maximum number of unfinished messages. Must be between 1 and 100,000,000; the default is 1,000,000.
    public var rows: Int { didSet { check() } }
    /// The maximum size of their original bytes. Must be at least 1; the default is 1 GiB. A message may exceed the limit
    /// while a quarter of it is free.
    public var bytes: Int { didSet { check() } }
    /// How old the oldest unfinished message may become. Must be greater than zero; the default is 7 days.
    public var age: Duration { didSet { check() } }

    /// Creates limits.
    ///
    /// - Precondition: All values are within their ranges.
    public init(rows: Int = 1_000_000, bytes: Int = 1 << 30, age: Duration = .seconds(7 * 86_400)) {
        self.rows = rows
        self.bytes = bytes
        self.age = age
        check()
    }

    private func check() {
        precondition((1...100_000_000).contains(rows), "a journal holds 1 to 100,000,000 messages")
        precondition(bytes >= 1 && age > .zero, "a journal holds at least 1 byte, for a positive time")
    }
}
