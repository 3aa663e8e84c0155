import SignalboxCore

/// Limits how many messages of a source wait for a plugin that is not registered yet, and for how long.
///
/// A message whose action has no plugin is normally rejected at once. A source with these limits holds it instead, for
/// example a link that starts an application and comes before the application has registered its plugins. When the
/// plugin is registered, the held messages reach it in the order in which they came, before any later message for the
/// same action. A message that has waited for ``time`` is rejected as usual: `unknownAction`.
///
/// Held messages use the source's window. If the source redelivers, a message is held no longer than
/// ``SupervisorConfiguration/ackDeadline``.
public struct HoldLimits: Sendable, Hashable {
    /// How long a message waits. Must be greater than zero; the default is 5 s.
    public var time: Duration { didSet { check() } }
    /// The maximum number of messages that wait. Must be between 1 and 10,000; the default is 64. While as many wait, a
    /// further message without a plugin is rejected at once.
    public var messages: Int { didSet { check() } }

    /// Creates hold limits.
    ///
    /// - Precondition: Both values are within their ranges.
    public init(time: Duration = .seconds(5), messages: Int = 64) {
        self.time = time
        self.messages = messages
        check()
    }

    private func check() {
        precondition(time > .zero, "the time for which messages are held must be positive")
        precondition((1...10_000).contains(messages), "1 to 10,000 messages are held")
    }
}

/// The messages of one source that wait for a plugin to be registered, in order of arrival.
struct ActionHold: Sendable {
    private let messages: Int
    private let ticks: UInt64
    /// The messages, each a slice of one arrival. A slice's tick is the one at which the message was first routed.
    private var waiting: [BatchSlice] = []
    /// The generation of the plugins among which no waiting message has its plugin.
    private var checkedGeneration: Int?
    /// The tick before which no message has waited long enough.
    private var earliestEnd = UInt64.max

    /// - Parameters:
    ///   - deadline: The source's ack deadline in ticks, or `nil` if it does not redeliver.
    ///   - tick: The length of a tick.
    init(_ limits: HoldLimits, deadline: UInt64?, tick: Duration) {
        messages = limits.messages
        ticks = min(TickCount.ticks(in: limits.time, of: tick), deadline ?? .max)
    }

    var isEmpty: Bool { waiting.isEmpty }

    /// Adds a message.
    ///
    /// - Returns: Whether there was room for it.
    mutating func add(_ slice: BatchSlice) -> Bool {
        guard waiting.count < messages else { return false }
        waiting.append(slice)
        earliestEnd = min(earliestEnd, slice.tick + ticks)
        return true
    }

    /// Removes and returns the messages that have a plugin now, and those that have waited long enough.
    mutating func take(_ table: PluginTable, at now: UInt64) -> (routable: [BatchSlice], expired: [BatchSlice]) {
        guard table.generation != checkedGeneration || now >= earliestEnd else { return ([], []) }
        var (routable, expired, kept) = ([BatchSlice](), [BatchSlice](), [BatchSlice]())
        for slice in waiting {
            let arrival = slice.arrivals[slice.range.lowerBound]
            if arrival.withNameBytes({ table.entry(named: $0) }) != nil {
                routable.append(slice)
            } else if now >= slice.tick + ticks {
                expired.append(slice)
            } else {
                kept.append(slice)
            }
        }
        waiting = kept
        checkedGeneration = table.generation
        earliestEnd = kept.reduce(.max) { min($0, $1.tick + ticks) }
        return (routable, expired)
    }

    /// Removes and returns all messages.
    mutating func takeAll() -> [BatchSlice] {
        defer { waiting = [] }
        return waiting
    }
}
