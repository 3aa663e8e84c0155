import AdapterSupport

/// Ends subscriptions of a session, and acknowledges none of the messages that wait in it. The broker keeps those that it
/// has sent for the session's next client.
final class UnsubscribingRole: BrokerRole {
    /// The size of an UNSUBSCRIBE in bytes to which filters are added.
    private static let packetBytes = 8_192

    private let configuration: MQTTPushConfiguration
    private let done: @Sendable (Bool) -> Void
    private var filters: ArraySlice<String>
    private var hadSession = false
    /// When the UNSUBSCRIBE that the broker has not answered was added to the output, or `nil` if there is none.
    private var sentAt: ContinuousClock.Instant?

    /// - Parameters:
    ///   - filters: The filters to unsubscribe, or none to only connect and disconnect.
    ///   - done: Called when the broker has answered everything, with whether it had a session.
    init(_ configuration: MQTTPushConfiguration, filters: [String], done: @escaping @Sendable (Bool) -> Void) {
        self.configuration = configuration
        self.filters = filters[...]
        self.done = done
    }

    var mayReceive: Bool { true }
    var expectsAnswer: Bool { sentAt != nil }

    func opened(_ connection: BrokerConnection, _ connack: Connack) -> BrokerDisconnectReason? {
        hadSession = connack.isSessionPresent
        if !hadSession { filters = [] }
        return nil
    }

    func received(_ message: BrokerMessage) -> PacketViolation.Rule? { nil }

    func answered(_ packet: InboundPacket) {
        if case .unsuback = packet { sentAt = nil }
    }

    /// Sends the next UNSUBSCRIBE, or ends the connection if the broker has answered for all filters.
    func prepare(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        guard sentAt == nil else { return nil }
        guard !filters.isEmpty else {
            done(hadSession)
            return .stopped
        }
        var next: [String] = []
        var bytes = 0
        while let filter = filters.first, next.isEmpty || bytes + filter.utf8.count + 2 <= UnsubscribingRole.packetBytes
        {
            next.append(filters.removeFirst())
            bytes += filter.utf8.count + 2
        }
        sentAt = .now
        do throws(PacketEncodingError) {
            _ = try connection.unsubscribe(next)
            return nil
        } catch {
            return .setupFailed(.invalid("the filters cannot be unsubscribed: \(error)"))
        }
    }

    func stop(_ connection: BrokerConnection) -> BrokerDisconnectReason? { .stopped }

    func isOverdue(at now: ContinuousClock.Instant) -> Bool {
        sentAt.map { now - $0 > configuration.answerTimeout } ?? false
    }

    func ended(_ reason: BrokerDisconnectReason) -> Bool { false }
}
