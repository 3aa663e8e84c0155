/// The messages that one connection has delivered and not yet acknowledged, in their order of arrival.
///
/// Each message gets a token. Messages are settled by token, in any order, but leave only from the front: the released
/// prefix. Acknowledgements therefore go out in the order of arrival (MQTT 5.0, 4.6, MQTT-4.6.0-2), and none goes out
/// for or behind an abandoned message, which the broker then redelivers on the next connection.
///
/// A message at QoS 0 has packet identifier 0. It takes a place like any other message, so that one bound limits the
/// memory of both kinds, but it is never acknowledged and never redelivered.
struct AcknowledgementRing {
    enum Settlement {
        /// The message may be acknowledged.
        case released
        /// The message must not be acknowledged.
        case abandoned
    }

    /// What a settlement changed.
    enum Effect {
        /// Nothing: the token is not in the ring, belongs to an earlier connection, or is already settled.
        case ignored
        /// The message is settled, but there is no new acknowledgement to write: either an unsettled message is in front
        /// of it, or it arrived at QoS 0.
        case settled
        /// The released prefix has grown by at least one message that has an acknowledgement.
        case prefixGrew
        /// A message that is redelivered on the next connection was abandoned, so this connection must end.
        case abandoned
    }

    private enum Mark: UInt8 { case unsettled, released, abandoned }

    private struct Entry {
        var addedAt: MonotonicTime
        var bytes: UInt32
        var packet: UInt16
        var mark: Mark
        /// Whether the message is delivered again on the next connection if it is not acknowledged on this one.
        var isRedelivered: Bool
    }

    /// The maximum number of messages in the ring.
    let capacity: Int
    /// The number of messages in the ring: unsettled ones, and settled ones that are not taken yet.
    private(set) var count = 0
    private(set) var unsettled = 0
    /// The size of all messages in the ring. A settled message counts until it is taken, because it shares its memory
    /// with the messages that were submitted together with it.
    private(set) var bytes = 0
    /// The number of messages on this connection that were abandoned and are redelivered on the next one.
    private(set) var abandoned = 0
    /// The number of messages on this connection that were abandoned and are never redelivered: those at QoS 0.
    private(set) var lost = 0

    /// The number of acknowledgements in the released prefix.
    private(set) var acknowledgements = 0
    /// The number of messages in the released prefix, which includes those at QoS 0.
    private var prefix = 0
    // The size is a power of two, because a division would cost more than the rest of a settlement.
    private var entries: [Entry]
    private var packets = PacketIdentifierSet()
    /// The token of the first message in the ring. If the ring is empty, the next message gets this token.
    private(set) var head: UInt64

    // A token is the connection's generation, and below it the message's number on the connection.
    static let ticketBits: UInt64 = 44
    private static let ticketMask: UInt64 = (1 << ticketBits) - 1

    /// - Parameters:
    ///   - capacity: The receive maximum that the client announces to the broker. Values outside of 1 to 65,535 are
    ///     clamped (MQTT 5.0, 3.1.2.11.3).
    ///   - head: The token of the first message.
    init(capacity: Int, head: UInt64 = 0) {
        self.head = head
        self.capacity = min(max(capacity, 1), 65_535)
        var size = 1
        while size < self.capacity { size *= 2 }
        let start = MonotonicTime(nanoseconds: 0)
        let unused = Entry(addedAt: start, bytes: 0, packet: 0, mark: .released, isRedelivered: false)
        entries = [Entry](repeating: unused, count: size)
    }

    var isFull: Bool { count == capacity }

    /// Whether ``takePrefix(_:_:)`` would take a message.
    var hasPrefix: Bool { prefix > 0 }

    /// Returns whether a message with this packet identifier is in the ring. A second message with the same identifier
    /// is then either the broker's retry, which is marked as a duplicate, or a violation (MQTT 5.0, 2.2.1).
    func contains(packet: UInt16) -> Bool { packets.contains(packet) }

    /// Adds a message behind all others.
    ///
    /// - Parameters:
    ///   - packet: The packet identifier, or 0 at QoS 0. Check ``contains(packet:)`` first.
    ///   - bytes: The memory that the message occupies.
    ///   - addedAt: When the message was read. See ``addedAt(_:)``.
    ///   - isRedelivered: Whether the message is delivered again on the next connection if it is not acknowledged.
    ///     `nil` stands for every message that has a packet identifier. Pass `true` for an event without an identifier
    ///     that the adapter itself repeats until it is settled.
    /// - Returns: The message's token, or `nil` if the ring is full. The message must then not be submitted.
    mutating func add(
        packet: UInt16,
        bytes: Int,
        at addedAt: MonotonicTime,
        isRedelivered: Bool? = nil
    ) -> UInt64? {
        guard !isFull else { return nil }
        let token = advanced(head, by: count)
        let size = UInt32(clamping: bytes)
        entries[index(of: token)] = Entry(
            addedAt: addedAt,
            bytes: size,
            packet: packet,
            mark: .unsettled,
            isRedelivered: isRedelivered ?? (packet != 0)
        )
        packets.insert(packet)
        count += 1
        unsettled += 1
        self.bytes += Int(size)
        return token
    }

    /// Returns when a message was added, or `nil` if settling the token would have no effect.
    func addedAt(_ token: UInt64) -> MonotonicTime? { unsettledIndex(of: token).map { entries[$0].addedAt } }

    /// Adds to the memory that an unsettled message occupies.
    mutating func add(bytes: Int, to token: UInt64) {
        guard let index = unsettledIndex(of: token) else { return }
        let size = UInt32(clamping: Int(entries[index].bytes) + bytes)
        self.bytes += Int(size - entries[index].bytes)
        entries[index].bytes = size
    }

    /// Settles a message. Only a token's first settlement counts.
    mutating func settle(_ token: UInt64, _ settlement: Settlement) -> Effect {
        guard let index = unsettledIndex(of: token) else { return .ignored }
        unsettled -= 1
        let isAbandoned = settlement == .abandoned && entries[index].isRedelivered
        // A message that is not redelivered frees its place. Otherwise, it would block the ring for good.
        entries[index].mark = isAbandoned ? .abandoned : .released
        if isAbandoned {
            abandoned += 1
            return .abandoned
        }
        if settlement == .abandoned { lost += 1 }
        let before = acknowledgements
        extendPrefix()
        return acknowledgements > before ? .prefixGrew : .settled
    }

    /// Adds the released messages that follow the prefix to it. Each message is added once, so a settlement takes a
    /// constant time on average.
    private mutating func extendPrefix() {
        while prefix < count {
            let entry = entries[index(of: advanced(head, by: prefix))]
            guard entry.mark == .released else { return }
            if entry.packet != 0 { acknowledgements += 1 }
            prefix += 1
        }
    }

    /// Removes released messages from the front of the ring, up to the first message that is unsettled or abandoned.
    ///
    /// The broker may use a packet identifier again as soon as it has the acknowledgement, so take a prefix only to
    /// write its acknowledgements next.
    ///
    /// - Parameters:
    ///   - most: The maximum number of messages to remove.
    ///   - emit: Called with each message in order. A message whose packet identifier is 0 is not acknowledged.
    /// - Returns: The number of messages removed.
    mutating func takePrefix(_ most: Int, _ emit: (_ packet: UInt16, _ token: UInt64) -> Void) -> Int {
        let taken = max(0, min(most, prefix))
        for _ in 0..<taken {
            let entry = entries[index(of: head)]
            if entry.packet != 0 {
                packets.remove(entry.packet)
                acknowledgements -= 1
            }
            bytes -= Int(entry.bytes)
            emit(entry.packet, head)
            head = advanced(head, by: 1)
        }
        prefix -= taken
        count -= taken
        return taken
    }

    /// Ends the wait for messages that were added but never submitted, because the intake is closed.
    ///
    /// They are not acknowledged, as if they were abandoned, but they are not counted.
    mutating func drop(_ tokens: Range<UInt64>) {
        // The range may be longer than the ring, so its length must not decide how long the loop runs.
        for offset in 0..<count {
            let token = advanced(head, by: offset)
            guard tokens.contains(token), let index = unsettledIndex(of: token) else { continue }
            entries[index].mark = .abandoned
            unsettled -= 1
        }
    }

    /// Empties the ring for the next connection. Tokens of earlier connections are ignored from now on.
    mutating func reset() {
        // After 2^20 connections a generation is used again. By then, all messages of the first one are settled.
        head = ((head >> AcknowledgementRing.ticketBits) &+ 1) << AcknowledgementRing.ticketBits
        (count, prefix, acknowledgements, unsettled, bytes, abandoned, lost) = (0, 0, 0, 0, 0, 0, 0)
        packets.removeAll()
    }
}

extension AcknowledgementRing {
    private func index(of token: UInt64) -> Int { Int(truncatingIfNeeded: token) & (entries.count - 1) }

    /// Returns the token of the message that is `distance` messages behind the given one, on the same connection.
    private func advanced(_ token: UInt64, by distance: Int) -> UInt64 {
        let mask = AcknowledgementRing.ticketMask
        return token & ~mask | (token &+ UInt64(truncatingIfNeeded: distance)) & mask
    }

    private func unsettledIndex(of token: UInt64) -> Int? {
        let mask = AcknowledgementRing.ticketMask
        guard token & ~mask == head & ~mask, (token &- head) & mask < UInt64(truncatingIfNeeded: count) else {
            return nil
        }
        let index = index(of: token)
        return entries[index].mark == .unsettled ? index : nil
    }
}

/// A set of packet identifiers. It does not contain 0, which is no packet identifier (MQTT 5.0, 2.2.1).
///
/// Every operation except ``removeAll()`` takes the same short time, and none allocates memory.
struct PacketIdentifierSet {
    private var words = [UInt64](repeating: 0, count: 1_024)

    func contains(_ packet: UInt16) -> Bool { words[Int(packet >> 6)] & bit(packet) != 0 }

    mutating func insert(_ packet: UInt16) { words[Int(packet >> 6)] |= bit(packet) }

    mutating func remove(_ packet: UInt16) { words[Int(packet >> 6)] &= ~bit(packet) }

    mutating func removeAll() {
        for index in words.indices { words[index] = 0 }
    }

    private func bit(_ packet: UInt16) -> UInt64 { packet == 0 ? 0 : 1 << UInt64(packet & 63) }
}
