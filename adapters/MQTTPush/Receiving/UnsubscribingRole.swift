#if MQTT
import AdapterSupport

/// Ends subscriptions of a session, and acknowledges none of the messages that wait in it. The broker keeps those that it
/// has sent for the session's next client.
final class UnsubscribingRole: BrokerRole {
    /// What the broker has answered.
    struct Result {
        /// Whether the broker had a session.
        let hadSession: Bool
        /// Why the broker still has some of the subscriptions, or `nil` if it has none of them.
        var refusal: ReasonCode?
        /// Whether the broker has read that the session ends.
        var isEnded = false
    }

    /// The size of an UNSUBSCRIBE in bytes to which filters are added.
    private static let packetBytes = 8_192

    private let configuration: MQTTPushConfiguration
    private let done: @Sendable (Result) -> Void
    private let isEnding: Bool
    private var filters: ArraySlice<String>
    private var result: Result?
    private var isDone = false
    /// When the UNSUBSCRIBE that the broker has not answered was added to the output, or `nil` if there is none.
    private var sentAt: ContinuousClock.Instant?

    /// - Parameters:
    ///   - filters: The filters to unsubscribe, or none to only connect and disconnect.
    ///   - endsSession: Whether the session ends. A session that the connection has created ends in any case.
    ///   - done: Called when the broker has answered everything, and the connection has ended.
    init(
        _ configuration: MQTTPushConfiguration,
        filters: [String],
        endsSession: Bool,
        done: @escaping @Sendable (Result) -> Void
    ) {
        self.configuration = configuration
        self.filters = filters[...]
        isEnding = endsSession
        self.done = done
    }

    var mayReceive: Bool { true }
    /// A clean end of MQTT 3.1.1 does not end a session.
    var endsSession: Bool {
        isDone && configuration.version == .v5 && (isEnding || result?.hadSession == false)
    }
    var expectsAnswer: Bool { sentAt != nil }

    func opened(_ connection: BrokerConnection, _ connack: Connack) -> BrokerDisconnectReason? {
        result = Result(hadSession: connack.isSessionPresent)
        if !connack.isSessionPresent { filters = [] }
        return nil
    }

    func received(_ message: BrokerMessage) -> PacketViolation.Rule? { nil }

    func answered(_ packet: InboundPacket) {
        guard case .unsuback(_, let codes) = packet else { return }
        sentAt = nil
        if let code = codes.first(where: \.isFailure) { result?.refusal = code }
    }

    /// Sends the next UNSUBSCRIBE, or ends the connection if the broker has answered for all filters.
    func prepare(_ connection: BrokerConnection) -> BrokerDisconnectReason? {
        guard sentAt == nil else { return nil }
        while !filters.isEmpty {
            do throws(PacketEncodingError) {
                _ = try connection.unsubscribe(takeFilters(connection.packetLimit))
                sentAt = .now
                return nil
            } catch {
                result?.refusal = .packetTooLarge
            }
        }
        isDone = true
        return .stopped
    }

    /// Returns the filters of the next UNSUBSCRIBE, at least one.
    private func takeFilters(_ limit: UInt32) -> [String] {
        // The fields other than filters have at most 9 bytes.
        let room = min(UnsubscribingRole.packetBytes, max(0, Int(limit) - 9))
        var next: [String] = []
        var bytes = 0
        while let filter = filters.first, next.isEmpty || bytes + filter.utf8.count + 2 <= room {
            next.append(filters.removeFirst())
            bytes += filter.utf8.count + 2
        }
        return next
    }

    func stop(_ connection: BrokerConnection) -> BrokerDisconnectReason? { .stopped }

    func isOverdue(at now: ContinuousClock.Instant) -> Bool {
        sentAt.map { now - $0 > configuration.answerTimeout } ?? false
    }

    func farewellWasRead() {
        let isEnded = endsSession
        result?.isEnded = isEnded
    }

    func ended(_ reason: BrokerDisconnectReason) -> Bool {
        if isDone, let result { done(result) }
        return false
    }
}
#endif
