/// Decides which of its brokers a client connects to next.
///
/// A *round* tries each broker once. Attempts that fail follow each other at once, and the client waits before the next
/// round. It also waits after each connection that a broker had accepted, so that not all clients of a broker arrive at the
/// next one at the same time.
struct BrokerList {
    /// How a connection, or an attempt to connect, ended.
    enum End: Equatable {
        /// The broker did not accept the connection.
        case failed
        /// Only another configuration can help, so the broker is not asked again before this time. It had accepted the
        /// connection, or not.
        case refused(until: ContinuousClock.Instant, wasOpen: Bool)
        /// The broker had accepted the connection, which was of no use.
        case unused
        /// The connection was of use, or lasted long.
        case lost
        /// The client ended the connection itself, and returns to the same broker.
        case returning
    }

    /// When the next attempt follows.
    enum Next: Equatable {
        case atOnce
        case afterBackoff
        /// Each broker has refused the client. The first one may be asked again at this time.
        case at(ContinuousClock.Instant)
    }

    /// The longest server reference, in bytes, that is read.
    private static let longestReference = 1_024

    /// The broker of the next attempt.
    private(set) var current: MQTTBroker
    private let brokers: [MQTTBroker]
    private let order: MQTTBrokerOrder
    /// The brokers that the round has not tried yet, without the current one.
    private var rest: [MQTTBroker]
    /// The time before which a broker that has refused the client is not asked again.
    private var refusals: [MQTTBroker: ContinuousClock.Instant] = [:]
    /// Whether a reference was followed since the last wait, so that two brokers cannot send a client back and forth.
    private var hasFollowed = false

    /// - Parameters:
    ///   - first: The first of the brokers.
    ///   - others: The others, in their order.
    init(_ first: MQTTBroker, _ others: [MQTTBroker], order: MQTTBrokerOrder) {
        brokers = [first] + others
        self.order = order
        rest = order == .listed ? brokers : brokers.shuffled()
        current = rest.removeFirst()
    }

    /// Takes note of the end of an attempt or of a connection, and chooses the next broker.
    ///
    /// - Parameter reference: The broker's reference to another server. It is followed only to one of the brokers.
    mutating func ended(_ end: End, reference: String? = nil, at now: ContinuousClock.Instant) -> Next {
        let next = chooseNext(end, reference, now)
        if next != .atOnce { hasFollowed = false }
        return next
    }

    private mutating func chooseNext(_ end: End, _ reference: String?, _ now: ContinuousClock.Instant) -> Next {
        if end == .returning { return .afterBackoff }
        let ended = current
        var beginsRound = end == .lost
        if case .refused(let time, let wasOpen) = end {
            refusals[current] = time
            beginsRound = wasOpen
        }
        refusals = refusals.filter { $0.value > now }
        beginsRound = beginsRound && refusals.count < brokers.count
        // A broker that is lost is tried last, because it may be down.
        if beginsRound { beginRound(lastly: current) }
        if let broker = reference.flatMap(broker), broker != ended, refusals[broker] == nil, !hasFollowed {
            follow(to: broker, isCurrentTried: !beginsRound)
            return .atOnce
        }
        if beginsRound { return .afterBackoff }
        rest.removeAll { refusals[$0] != nil }
        if !rest.isEmpty {
            current = rest.removeFirst()
            return end == .unused ? .afterBackoff : .atOnce
        }
        if let first = refusals.min(by: { $0.value < $1.value }), refusals.count == brokers.count {
            current = first.key
            return .at(first.value)
        }
        beginRound(lastly: nil)
        return .afterBackoff
    }

    /// - Parameter last: The broker to try last.
    private mutating func beginRound(lastly last: MQTTBroker?) {
        rest = order == .listed ? brokers : brokers.shuffled()
        if let last {
            rest.removeAll { $0 == last }
            rest.append(last)
        }
        let usable = rest.filter { refusals[$0] == nil }
        if !usable.isEmpty { rest = usable }
        current = rest.removeFirst()
    }

    /// - Parameter isCurrentTried: Whether the round has tried the current broker.
    private mutating func follow(to broker: MQTTBroker, isCurrentTried: Bool) {
        hasFollowed = true
        guard broker != current else { return }
        rest.removeAll { $0 == broker }
        if !isCurrentTried { rest.insert(current, at: 0) }
        current = broker
    }

    /// Returns the broker that a reference names: a list of servers, separated by spaces (MQTT 5.0, 4.11).
    private func broker(named reference: String) -> MQTTBroker? {
        guard reference.utf8.count <= BrokerList.longestReference else { return nil }
        for name in reference.split(separator: " ") {
            if let broker = brokers.first(where: { $0.isNamed(by: name) }) { return broker }
        }
        return nil
    }
}
