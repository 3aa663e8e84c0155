#if MQTT
import AdapterSupport
import SignalboxRoutes

/// The SUBSCRIBEs and UNSUBSCRIBEs of one connection, and the broker's answers to them.
struct SubscriptionExchange {
    private let loop: ReceiveLoop
    /// The SUBSCRIBEs that are not in the output yet.
    private var unsent: ArraySlice<SubscriptionGroup> = []
    /// The SUBSCRIBEs that the broker has not answered yet.
    private var requests = SubscriptionRequests()
    private var acknowledgements: [SubscriptionRequests.Acknowledgement] = []
    /// The filters whose UNSUBSCRIBEs the broker has not answered yet.
    private var filtersToUnsubscribe: [String] = []
    /// The filters of pending UNSUBSCRIBEs, by packet identifier.
    private var pendingUnsubscribes: [UInt16: String] = [:]
    private var unsubscribed: [(filter: String, code: ReasonCode)] = []
    /// The identifiers of answered packets, which may be used again.
    private var answeredPackets: [UInt16] = []
    /// Since when at least one SUBSCRIBE or UNSUBSCRIBE has been unanswered.
    private var unansweredSince: ContinuousClock.Instant?
    /// The revision of the subscriptions that was last applied at the broker.
    private var revision = 0
    /// A filter whose group the connection has left, for the fence.
    private var leftFilter: String?
    private var fence = DepartureFence()
    /// The identifier of the fence's UNSUBSCRIBE, until the broker has answered it.
    private var fencePacket: UInt16?
    private var isFenceAnswered = false

    init(_ loop: ReceiveLoop) {
        self.loop = loop
    }

    /// Whether an answer is missing.
    var isWaiting: Bool { !requests.isEmpty || !pendingUnsubscribes.isEmpty || fencePacket != nil }

    /// When the connection must take a turn although nothing happens, or `nil`.
    var nextTurn: ContinuousClock.Instant? { leftFilter == nil ? nil : fence.nextTurn }

    func isOverdue(at now: ContinuousClock.Instant) -> Bool {
        unansweredSince.map { now - $0 > loop.configuration.answerTimeout } ?? false
    }

    /// Keeps the broker's answer for ``update(_:_:)``.
    mutating func answered(_ packet: InboundPacket) {
        switch packet {
        case .suback(let packet, let codes):
            answeredPackets.append(packet)
            if let acknowledgement = requests.acknowledged(packet, codes) { acknowledgements.append(acknowledgement) }
        case .unsuback(let packet, let codes):
            answeredPackets.append(packet)
            if packet == fencePacket { (fencePacket, isFenceAnswered) = (nil, true) }
            guard let filter = pendingUnsubscribes.removeValue(forKey: packet) else { return }
            unsubscribed.append((filter, codes.first ?? .unspecified))
        default: return
        }
        // The broker makes progress.
        unansweredSince = .now
    }

    /// Subscribes to all topics on a new connection.
    mutating func subscribe(_ connection: BrokerConnection, _ receiver: PushReceiver) -> BrokerDisconnectReason? {
        let snapshot = loop.subscriptions.snapshot(clearingAdded: true)
        return apply(snapshot, subscribing: snapshot.topics, connection, receiver)
    }

    /// Handles the answers, and applies added and removed topics. Other subscriptions are left untouched.
    mutating func update(_ connection: BrokerConnection, _ receiver: PushReceiver) -> BrokerDisconnectReason? {
        if let reason = handleAcknowledgements() { return reason }
        handleUnsubscribed()
        for packet in answeredPackets { connection.identifiers.release(packet) }
        answeredPackets = []
        if !isWaiting { unansweredSince = nil }
        guard loop.subscriptions.revision != revision else { return sendRest(connection) }
        let snapshot = loop.subscriptions.snapshot(clearingAdded: true)
        let added = snapshot.topics.filter { snapshot.added.contains($0.pattern.filter.text) }
        return apply(snapshot, subscribing: added, connection, receiver)
    }

    /// Continues the departure from groups that the broker has ended, until no message of theirs is left.
    ///
    /// - Parameter isIdle: Whether the acknowledgements of all messages are in the output.
    mutating func leaveGroups(_ connection: BrokerConnection, isIdle: Bool, messages: Int) {
        guard let leftFilter else { return }
        let now = ContinuousClock.now
        if isFenceAnswered {
            isFenceAnswered = false
            if fence.answered(messages: messages, at: now) == .finish { return loop.subscriptions.departed() }
        }
        guard fence.next(isIdle: isIdle, messages: messages, at: now) == .send else { return }
        // If the output is full, the fence follows when the broker has read some of it.
        guard let packet = try? connection.unsubscribe([leftFilter]) else { return fence.postponed() }
        fence.sent()
        fencePacket = packet
        unansweredSince = unansweredSince ?? now
    }

    /// Subscribes to the topics, and unsubscribes from each removed filter.
    private mutating func apply(
        _ snapshot: SubscriptionManager.Snapshot,
        subscribing topics: [MQTTTopic],
        _ connection: BrokerConnection,
        _ receiver: PushReceiver
    ) -> BrokerDisconnectReason? {
        revision = snapshot.revision
        leftFilter = snapshot.leftFilter
        receiver.use(snapshot)
        let offer = SubscriptionOffer(connection.server, connection.settings.version)
        var available: [MQTTTopic] = []
        for topic in topics {
            if let code = offer.refusal(of: topic.pattern.filter) {
                requests.refused(topic.pattern.filter.text, code)
            } else {
                available.append(topic)
            }
        }
        prune(to: snapshot, subscribing: topics)
        unsent += SubscriptionGroup.groups(of: available, offer.hasIdentifiers ? receiver.identifiers : nil)
        filtersToUnsubscribe = snapshot.filtersToUnsubscribe
        return sendRest(connection)
    }

    private mutating func sendRest(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        if let reason = send(connection) { return reason }
        // The broker does not answer for topics that were not sent.
        if let acknowledgement = requests.takeAcknowledgement() { acknowledgements.append(acknowledgement) }
        return handleAcknowledgements()
    }

    /// Removes what was not sent yet and is not wanted any more, or is about to be added.
    private mutating func prune(to snapshot: SubscriptionManager.Snapshot, subscribing topics: [MQTTTopic]) {
        guard !unsent.isEmpty else { return }
        let kept = Set(snapshot.topics.map(\.pattern.filter.text)).subtracting(topics.map(\.pattern.filter.text))
        for index in unsent.indices { unsent[index].remove { !kept.contains($0) } }
        unsent.removeAll { $0.filters.isEmpty }
    }

    private mutating func handleAcknowledgements() -> BrokerDisconnectReason? {
        while !acknowledgements.isEmpty {
            if let reason = handle(acknowledgements.removeFirst()) { return reason }
        }
        return nil
    }

    /// Adds SUBSCRIBEs, and then an UNSUBSCRIBE for each removed filter, until the output is full. The rest follows when
    /// the broker has answered some of them.
    private mutating func send(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        defer { requests.hasUnsent = !unsent.isEmpty }
        guard !unsent.isEmpty || filtersToUnsubscribe.count > pendingUnsubscribes.count else { return nil }
        do throws(PacketEncodingError) {
            while let group = unsent.first { try send(group, connection) }
            for filter in filtersToUnsubscribe where !pendingUnsubscribes.values.contains(filter) {
                pendingUnsubscribes[try connection.unsubscribe([filter])] = filter
            }
        } catch {
            guard error == .outputFull, isWaiting else {
                return .setupFailed(.invalid("the topics cannot be subscribed: \(error)"))
            }
        }
        if isWaiting { unansweredSince = unansweredSince ?? .now }
        return nil
    }

    /// Adds a SUBSCRIBE. A group that is too large for the broker is divided.
    private mutating func send(
        _ group: SubscriptionGroup,
        _ connection: BrokerConnection
    ) throws(PacketEncodingError) {
        do throws(PacketEncodingError) {
            requests.sent(group, packet: try connection.subscribe(group))
        } catch .packetTooLarge {
            unsent.removeFirst()
            if let (first, second) = group.halves {
                unsent = [first, second] + unsent
            } else {
                for filter in group.filters { requests.refused(filter, .packetTooLarge) }
            }
            return
        }
        unsent.removeFirst()
        // If a filter is subscribed again, the answer to an earlier UNSUBSCRIBE no longer applies to it.
        if !pendingUnsubscribes.isEmpty {
            pendingUnsubscribes = pendingUnsubscribes.filter { !group.filters.contains($0.value) }
        }
    }

    private mutating func handleUnsubscribed() {
        guard !unsubscribed.isEmpty else { return }
        var refused: [String: MQTTPushError] = [:]
        for (filter, code) in unsubscribed where code.isFailure {
            loop.log.stillSubscribed(filter, code)
            refused[filter] = MQTTPushError(.subscriptionRefused, code.text)
        }
        let filters = unsubscribed.map(\.filter)
        filtersToUnsubscribe.removeAll { filters.contains($0) }
        loop.subscriptions.unsubscribed(filters, refused: refused)
        unsubscribed = []
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

/// The kinds of subscriptions that a broker offers. An MQTT 3.1.1 broker does not announce them.
private struct SubscriptionOffer {
    let hasIdentifiers: Bool
    private let server: Connack?

    init(_ server: Connack, _ version: MQTTVersion) {
        hasIdentifiers = version == .v5 && server.areSubscriptionIDsAvailable
        self.server = version == .v5 ? server : nil
    }

    /// Returns the code with which the broker would refuse the filter, or `nil` if it accepts such filters. A broker may
    /// end the connection when it gets one (MQTT 5.0, 3.2.2.3.11 and 3.2.2.3.13).
    func refusal(of filter: TopicFilter) -> ReasonCode? {
        guard let server else { return nil }
        if filter.isShared, !server.areSharedSubscriptionsAvailable { return ReasonCode(rawValue: 0x9E) }
        if filter.hasWildcard, !server.isWildcardAvailable { return ReasonCode(rawValue: 0xA2) }
        return nil
    }
}
#endif
