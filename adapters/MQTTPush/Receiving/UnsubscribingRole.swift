import AdapterSupport

/// Ends subscriptions of a session, and acknowledges none of the messages that wait in it.
///
/// libmosquitto queues an acknowledgement for each message that it reads. This role therefore writes queued packets only
/// until the broker has accepted the connection, and sends everything else past the queue. The broker keeps the messages
/// that it has sent for the session's next client.
final class UnsubscribingRole: BrokerRole {
    /// The identifier of each UNSUBSCRIBE. libmosquitto, which counts from 1, does not reach it on this connection.
    private static let packet: UInt16 = 0xFFFF
    /// The size of an UNSUBSCRIBE in bytes to which filters are added. A socket that has sent little accepts it at once.
    private static let packetBytes = 8_192

    private let configuration: MQTTPushConfiguration
    private let done: @Sendable (Bool) -> Void
    private var filters: ArraySlice<String>
    /// When the pending UNSUBSCRIBE was sent, or `nil` if the broker has answered all of them.
    private var sentAt: ContinuousClock.Instant?
    /// Whether there may be unread packets, which polling the socket does not always show.
    private var mayHaveMore = false

    /// - Parameters:
    ///   - filters: The filters to unsubscribe, or none to only connect and disconnect.
    ///   - done: Called when the broker has answered everything, with whether it had a session.
    init(_ configuration: MQTTPushConfiguration, filters: [String], done: @escaping @Sendable (Bool) -> Void) {
        self.configuration = configuration
        self.filters = filters[...]
        self.done = done
    }

    func accepted(sessionPresent: Bool) {}

    func received(_ message: BrokerMessage) {}

    func answered(_ event: BrokerEvent) {
        if case .unsubscribed(let packet) = event, packet == Int32(UnsubscribingRole.packet) { sentAt = nil }
    }

    func opened(_ connection: BrokerConnection, sessionPresent: Bool) -> BrokerDisconnectReason? {
        guard sessionPresent else { return end(connection, hadSession: false) }
        return unsubscribe(connection)
    }

    func turn(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        if !connection.isOpen, let reason = connection.flush() { return reason }
        if mayHaveMore || connection.wait(for: .readable) {
            let result = connection.read()
            mayHaveMore = result.hasRead
            if let reason = result.reason { return reason }
        }
        guard connection.isOpen else { return connection.open() }
        guard sentAt != nil else { return unsubscribe(connection) }
        return isOverdue(at: .now) ? .timedOut : nil
    }

    func stop(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        connection.client.disconnectPastQueue()
        return .stopped
    }

    func isOverdue(at now: ContinuousClock.Instant) -> Bool {
        sentAt.map { now - $0 > configuration.answerTimeout } ?? false
    }

    func ended(_ reason: BrokerDisconnectReason) -> Bool { false }

    /// Sends the next UNSUBSCRIBE, or ends the connection if the broker has answered for all filters.
    private func unsubscribe(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        guard !filters.isEmpty else { return end(connection, hadSession: true) }
        var next: [String] = []
        var bytes = 0
        while let filter = filters.first, next.isEmpty || bytes + filter.utf8.count + 2 <= UnsubscribingRole.packetBytes
        {
            next.append(filters.removeFirst())
            bytes += filter.utf8.count + 2
        }
        sentAt = .now
        let isSent = connection.client.unsubscribePastQueue(next, packet: UnsubscribingRole.packet)
        return isSent ? nil : .lost("the UNSUBSCRIBE could not be sent")
    }

    private func end(_ connection: BrokerConnection, hadSession: Bool) -> BrokerDisconnectReason {
        let lingering = LingeringClose(connection.client.socket)
        connection.client.disconnectPastQueue()
        lingering?.wait(limit: configuration.lingerTimeout)
        done(hadSession)
        return .stopped
    }
}
