import AdapterSupport
import SignalboxRoutes

/// The SUBSCRIBEs and UNSUBSCRIBEs of one connection, and the broker's answers to them.
struct SubscriptionExchange {
    private let loop: ReceiveLoop
    /// The SUBSCRIBEs that the broker has not answered yet.
    private var requests = SubscriptionRequests()
    private var acknowledgements: [SubscriptionRequests.Acknowledgement] = []
    /// The filters of pending UNSUBSCRIBEs, by packet identifier.
    private var pendingUnsubscribes: [UInt16: String] = [:]
    private var unsubscribedFilters: [String] = []
    /// The identifiers of answered packets, which may be used again.
    private var answeredPackets: [UInt16] = []
    /// Since when at least one SUBSCRIBE or UNSUBSCRIBE has been unanswered.
    private var unansweredSince: ContinuousClock.Instant?
    /// The revision of the subscriptions that was last applied at the broker.
    private var revision = 0

    init(_ loop: ReceiveLoop) {
        self.loop = loop
    }

    /// Whether an answer is missing.
    var isWaiting: Bool { !requests.isEmpty || !pendingUnsubscribes.isEmpty }

    func isOverdue(at now: ContinuousClock.Instant) -> Bool {
        unansweredSince.map { now - $0 > loop.configuration.answerTimeout } ?? false
    }

    /// Keeps the broker's answer for ``update(_:_:)``.
    mutating func answered(_ packet: InboundPacket) {
        switch packet {
        case .suback(let packet, let codes):
            answeredPackets.append(packet)
            if let acknowledgement = requests.acknowledged(packet, codes) { acknowledgements.append(acknowledgement) }
        case .unsuback(let packet, _):
            answeredPackets.append(packet)
            if let filter = pendingUnsubscribes.removeValue(forKey: packet) { unsubscribedFilters.append(filter) }
        default: break
        }
    }

    /// Subscribes to all topics on a new connection.
    mutating func subscribe(_ connection: BrokerConnection, _ receiver: PushReceiver) -> BrokerDisconnectReason? {
        let snapshot = loop.subscriptions.snapshot(clearingAdded: true)
        return apply(snapshot, subscribing: snapshot.topics, connection, receiver)
    }

    /// Handles the answers, and applies added and removed topics. Other subscriptions are left untouched.
    mutating func update(_ connection: BrokerConnection, _ receiver: PushReceiver) -> BrokerDisconnectReason? {
        while !acknowledgements.isEmpty {
            if let reason = handle(acknowledgements.removeFirst()) { return reason }
        }
        if !unsubscribedFilters.isEmpty { loop.subscriptions.unsubscribed(unsubscribedFilters) }
        unsubscribedFilters = []
        for packet in answeredPackets { connection.identifiers.release(packet) }
        answeredPackets = []
        if !isWaiting { unansweredSince = nil }
        guard loop.subscriptions.revision != revision else { return nil }
        let snapshot = loop.subscriptions.snapshot(clearingAdded: true)
        let added = snapshot.topics.filter { snapshot.added.contains($0.pattern.filter.text) }
        return apply(snapshot, subscribing: added, connection, receiver)
    }

    /// Sends SUBSCRIBEs for the topics, and an UNSUBSCRIBE for each removed filter unless one is already pending.
    private mutating func apply(
        _ snapshot: SubscriptionManager.Snapshot,
        subscribing topics: [MQTTTopic],
        _ connection: BrokerConnection,
        _ receiver: PushReceiver
    ) -> BrokerDisconnectReason? {
        revision = snapshot.revision
        receiver.use(snapshot)
        do throws(PacketEncodingError) {
            for group in SubscriptionGroup.groups(of: topics) {
                requests.sent(group, packet: try connection.subscribe(group))
                // If a filter is subscribed again, the answer to an earlier UNSUBSCRIBE no longer applies to it.
                pendingUnsubscribes = pendingUnsubscribes.filter { !group.filters.contains($0.value) }
            }
            for filter in snapshot.filtersToUnsubscribe where !pendingUnsubscribes.values.contains(filter) {
                pendingUnsubscribes[try connection.unsubscribe([filter])] = filter
            }
            if isWaiting { unansweredSince = unansweredSince ?? .now }
            return nil
        } catch {
            return .setupFailed(.invalid("the topics cannot be subscribed: \(error)"))
        }
    }

    /// - Returns: `allSubscriptionsRefused` if the broker granted no filter although the configuration requires at
    ///   least one.
    private func handle(_ acknowledgement: SubscriptionRequests.Acknowledgement) -> BrokerDisconnectReason? {
        for (filter, code) in acknowledgement.refused { loop.log.refused(filter, code) }
        for filter in acknowledgement.downgraded { loop.log.downgraded(filter) }
        if acknowledgement.granted > 0 {
            loop.isGranted = true
        } else if loop.configuration.firstConnectionMustSucceed && !loop.isGranted {
            let refused = acknowledgement.refused.map { "\($0.filter.debugDescription): \($0.code.text)" }
            return .allSubscriptionsRefused(SubscriptionExchange.summary(refused))
        }
        loop.log.subscribed(acknowledgement.granted)
        let errors = acknowledgement.refused.map { ($0.filter, MQTTPushError(.subscriptionRefused, $0.code.text)) }
        loop.subscriptions.subscribed(acknowledgement.requested, refused: Dictionary(errors) { first, _ in first })
        return nil
    }

    /// Returns the first ten refusals as text, because there may be a thousand of them.
    private static func summary(_ refused: [String]) -> String {
        guard !refused.isEmpty else { return "its SUBACK covers no filter" }
        let more = refused.count > 10 ? ", and \(refused.count - 10) more" : ""
        return refused.prefix(10).joined(separator: ", ") + more
    }
}
