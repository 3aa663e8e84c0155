import SignalboxCore

/// Limits how many messages of a source wait for a plugin that is not registered yet, and for how long.
///
/// A message whose action has no plugin is normally rejected at once. A source with these limits holds it instead, for
/// example a link that starts an application and comes before the application has registered its plugins. When the
/// plugin is registered, the held messages reach it in the order in which they came, before any later message for the
/// same action. A message that has waited for ``time`` is rejected as usual: `unknownAction`.
///
/// Held messages use the source's window, but at most half of its arrivals and bytes, so that senders of unknown actions
/// cannot stop the source. Some adapters of this package have fewer unsettled messages than that: an `AppSchemeAdapter`
/// has 4, and an `MQTTPushAdapter` its receive maximum. Of those, at most half are held. If your own adapter, or one that
/// wraps an adapter, limits its unsettled messages, set ``messages`` to less than that limit. A held message keeps the
/// memory of the whole batch in which it came.
///
/// A source that redelivers acknowledges in order, so the acknowledgements of other messages may wait behind a
/// held one. Such a source holds a
/// message no longer than ``SupervisorConfiguration/ackDeadline``. After a message has waited in vain, it holds none
/// until plugins are registered, replaced or removed.
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

/// The limits on the held messages of one source that result from all its limits.
package struct HoldBounds: Sendable, Hashable {
    /// How long a message waits at most.
    package let time: Duration
    /// How many messages wait at most, which may be none.
    package let messages: Int
    /// The maximum total size of the waiting messages, in bytes.
    package let bytes: Int
    /// Whether ``messages`` is half of what the source may have in progress, because the hold limits allow more.
    let isHalf: Bool

    /// - Parameters:
    ///   - unsettled: How many unsettled messages the source has at most, or `nil` if only its window limits them.
    ///   - ackDeadline: The ack deadline, or `nil` if the source does not redeliver.
    package init(_ limits: HoldLimits, window: WindowLimits, unsettled: Int?, ackDeadline: Duration?) {
        let half = min(window.arrivals, unsettled ?? .max) / 2
        time = min(limits.time, ackDeadline ?? limits.time)
        messages = min(limits.messages, half)
        bytes = window.bytes / 2
        isHalf = half < limits.messages
    }

    fileprivate var text: String { "\(messages) \(messages == 1 ? "message" : "messages") and \(bytes) bytes" }
}

/// The messages of one source that wait for a plugin to be registered, in order of arrival.
struct ActionHold: Sendable {
    private let bounds: HoldBounds
    /// The rejection of a message that would exceed the bounds.
    private let full: Outcome.Rejection
    private let ticks: UInt64
    private let redelivers: Bool
    /// The messages, each a slice of one arrival. A slice's tick is the one at which the message was first routed.
    private var waiting: [BatchSlice] = []
    /// The total size of the waiting messages.
    private var bytes = 0
    /// The generation of the plugins among which no waiting message has its plugin.
    private var checkedGeneration: Int?
    /// The tick before which no message has waited long enough.
    private var earliestEnd = UInt64.max
    /// The generation of the plugins for which a message has waited in vain, if the source redelivers.
    private var vainGeneration: Int?

    /// - Parameters:
    ///   - unsettled: How many unsettled messages the source has at most, or `nil` if only its window limits them.
    ///   - settler: The source's settler.
    init(_ limits: HoldLimits, unsettled: Int?, _ settler: Settler) {
        let configuration = settler.core.configuration
        redelivers = settler.ackDeadlineTicks != nil
        bounds = HoldBounds(
            limits,
            window: settler.window.limits,
            unsettled: unsettled,
            ackDeadline: redelivers ? configuration.ackDeadline : nil
        )
        let half = bounds.isHalf ? ", half of what the source may have in progress" : ""
        full = .unheld("at most \(bounds.text) are held\(half)")
        ticks = TickCount.ticks(in: bounds.time, of: configuration.tick)
    }

    var isEmpty: Bool { waiting.isEmpty }

    /// Adds a message.
    ///
    /// - Returns: The rejection that the message receives instead, or `nil` if it is held.
    mutating func add(_ slice: BatchSlice, _ table: PluginTable) -> Outcome.Rejection? {
        let length = slice.heldLength
        if let rejection = rejection(of: length, table) { return rejection }
        waiting.append(slice)
        bytes += length
        earliestEnd = min(earliestEnd, slice.tick + ticks)
        return nil
    }

    /// Returns the rejection that a message of this length receives now, or `nil` if it is held.
    func rejection(of length: Int, _ table: PluginTable) -> Outcome.Rejection? {
        guard vainGeneration != table.generation else { return ActionHold.inVain }
        return waiting.count < bounds.messages && bytes + length <= bounds.bytes ? nil : full
    }

    /// The rejection of a message after others have waited in vain.
    private static let inVain = Outcome.Rejection.unheld("earlier ones waited in vain, and no plugin has changed since")

    /// What happens to a message that is held, in words.
    var text: String {
        "\(ArrivalRouter.unknown.detail); the message is held for at most \(bounds.time) until one is, and then "
            + "rejected as unknownAction; at most \(bounds.text) are held"
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
        bytes = kept.reduce(0) { $0 + $1.heldLength }
        checkedGeneration = table.generation
        earliestEnd = kept.reduce(.max) { min($0, $1.tick + ticks) }
        if redelivers, !expired.isEmpty { vainGeneration = table.generation }
        return (routable, expired)
    }

    /// Removes and returns all messages.
    mutating func takeAll() -> [BatchSlice] {
        defer { (waiting, bytes) = ([], 0) }
        return waiting
    }
}

extension BatchSlice {
    /// The size of the only message.
    fileprivate var heldLength: Int { arrivals[range.lowerBound].originalLength }
}

extension Outcome.Rejection {
    /// Returns the rejection of a message that the source does not hold for the given reason.
    fileprivate static func unheld(_ reason: String) -> Self {
        Self(.unknownAction, detail: "\(ArrivalRouter.unknown.detail), and the message is not held: \(reason)")
    }
}
