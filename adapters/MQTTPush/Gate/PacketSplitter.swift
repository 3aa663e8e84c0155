/// One packet in the buffer of a ``PacketSplitter``.
struct PacketFrame: Equatable {
    /// The first byte: the packet's type and flags.
    let first: UInt8
    /// The bytes behind the fixed header.
    let body: Range<Int>
    /// The packet's remaining length (MQTT 5.0, 2.1.4). Only an oversized packet may have a shorter ``body``.
    let length: Int
    /// Whether the packet exceeds the packet limit. Its body may then be cut off.
    var isOversized = false

    /// The index of the packet's first byte. The remaining length is in its shortest form, so its size is known.
    var start: Int { body.lowerBound - 1 - PacketFrame.lengthSize(length) }

    /// The number of bytes that a remaining length needs.
    static func lengthSize(_ length: Int) -> Int {
        length < 0x80 ? 1 : length < 0x4000 ? 2 : length < 0x20_0000 ? 3 : 4
    }
}

/// Divides the bytes that a broker sends into packets.
///
/// It owns the buffer and returns packets as ranges of it, without a copy. The buffer keeps its initial capacity, unless
/// a larger packet arrives: then it grows with the bytes of that packet, at most to the packet limit (or 64 KiB, if that
/// is more) plus a quarter of the capacity.
struct PacketSplitter: ~Copyable {
    /// A PUBLISH over the packet limit, whose end is discarded while it is read.
    private struct Oversized {
        let first: UInt8
        let header: Int
        let length: Int
        /// The number of bytes that are still to be discarded.
        var surplus: Int
    }

    /// The size up to which a PUBLISH always has its whole topic, packet identifier, and length of properties: a
    /// publisher that uses a long topic must not end the connection.
    private static let leastKept = 5 + 2 + 65_535 + 2 + 4

    private var storage: [UInt8]
    private let packetLimit: Int
    private let capacity: Int
    /// The buffered bytes are those from `start` to `end`.
    private var start = 0
    private var end = 0
    /// The size of the current packet with its header, or of its part that is kept. It is 0 while the size is unknown.
    private var required = 0
    private var oversized: Oversized?
    private var violation: PacketViolation?

    /// - Parameters:
    ///   - packetLimit: The maximum size of a packet with its fixed header, as in CONNECT's Maximum Packet Size (MQTT
    ///     5.0, 3.1.2.11.4).
    ///   - capacity: The initial size of the buffer.
    init(packetLimit: Int, capacity: Int = 256 * 1_024) {
        self.packetLimit = max(packetLimit, 2)
        self.capacity = max(capacity, 8)
        storage = [UInt8](repeating: 0, count: self.capacity)
    }

    /// Whether there are bytes that ``next()`` has not returned.
    var hasBytes: Bool { end > start }

    /// Whether ``fill(_:)`` has space for a read. It has none while the buffer is full of packets that ``next()`` has
    /// not returned.
    var hasSpace: Bool { storage.count - (end - start) >= leastSpace || lacking > 0 }

    /// The size of the buffer.
    var size: Int { storage.count }

    /// Lets `read` write to the free part of the buffer, and returns what `read` returned: the number of bytes that it
    /// wrote, or 0 or less if it wrote none.
    ///
    /// The space is at least 4 KiB, or as much as the current packet lacks. Call this only if ``hasSpace`` is true:
    /// without space, it returns 0 and does not call `read`.
    mutating func fill<E>(_ read: (UnsafeMutableRawBufferPointer) throws(E) -> Int) throws(E) -> Int {
        makeSpace()
        let (end, space) = (self.end, storage.count - self.end)
        guard space > 0 else { return 0 }
        let result = try storage.withUnsafeMutableBufferPointer { (buffer) throws(E) -> Int in
            try read(UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: buffer[end...])))
        }
        self.end += min(max(result, 0), space)
        return result
    }

    /// Returns the next complete packet, or `nil` if bytes are missing. Its ranges refer to ``withBytes(_:)`` and are
    /// valid until the next call of a mutating method.
    ///
    /// A PUBLISH over the packet limit is returned after all of it was read, with the start of its body.
    ///
    /// - Throws: A violation in the fixed header, or the size of another packet over the limit. Each later call throws
    ///   the same violation.
    mutating func next() throws(PacketViolation) -> PacketFrame? {
        if let violation { throw violation }
        if oversized != nil { return discard() }
        let available = end &- start
        guard available >= 2, available >= required else { return nil }
        let first = storage[start]
        var header = 2
        var length = Int(storage[start &+ 1])
        if length >= 0x80 {
            guard let long = try longHeader(first) else { return nil }
            (header, length) = long
        }
        required = header &+ length
        if required > packetLimit { return try beginOversized(first, header, length) }
        guard available >= required else { return nil }
        let body = start &+ header
        start = body &+ length
        required = 0
        return PacketFrame(first: first, body: Range(uncheckedBounds: (body, start)), length: length)
    }

    /// Calls `body` with the buffer that the ranges of a frame refer to.
    borrowing func withBytes<R, E>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try storage.withUnsafeBufferPointer { (buffer) throws(E) -> R in
            try body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<end]))
        }
    }
}

// MARK: - Fixed headers

extension PacketSplitter {
    /// Reads a remaining length of two to four bytes.
    ///
    /// - Returns: The size of the fixed header and the remaining length, or `nil` if bytes are missing.
    private mutating func longHeader(_ first: UInt8) throws(PacketViolation) -> (header: Int, length: Int)? {
        let range = start + 1..<min(start + 5, end)
        let result = withBytes { bytes in
            Result { () throws(PacketViolation) in
                var cursor = PacketCursor(bytes, range)
                let length = try cursor.variable()
                return (header: 1 + cursor.position - range.lowerBound, length: length)
            }
        }
        switch result {
        case .success(let header): return header
        // The cursor had all four bytes that a length can have, unless they have not arrived.
        case .failure(let error) where error.rule == .truncated: return nil
        case .failure(let error): throw end(error.rule, first)
        }
    }

    /// Records a violation, which each later call of ``next()`` throws again.
    private mutating func end(_ rule: PacketViolation.Rule, _ first: UInt8) -> PacketViolation {
        let error = PacketViolation(rule, at: 1, in: PacketType(first: first))
        violation = error
        return error
    }
}

// MARK: - Packets over the limit

extension PacketSplitter {
    private mutating func beginOversized(
        _ first: UInt8,
        _ header: Int,
        _ length: Int
    ) throws(PacketViolation) -> PacketFrame? {
        guard PacketType(first: first) == .publish else { throw end(.packetSize, first) }
        required = min(header + length, max(packetLimit, PacketSplitter.leastKept))
        oversized = Oversized(first: first, header: header, length: length, surplus: header + length - required)
        return discard()
    }

    /// Discards the buffered part of the surplus. Returns the packet as soon as the surplus was discarded.
    private mutating func discard() -> PacketFrame? {
        guard let packet = oversized else { return nil }
        let kept = start + required
        let discarded = min(max(end - kept, 0), packet.surplus)
        move(from: kept + discarded, to: kept)
        oversized?.surplus -= discarded
        guard discarded == packet.surplus, end >= kept else { return nil }
        let body = start + packet.header..<kept
        start = kept
        required = 0
        oversized = nil
        return PacketFrame(first: packet.first, body: body, length: packet.length, isOversized: true)
    }
}

// MARK: - Space

extension PacketSplitter {
    /// The space that a read needs while the size of the current packet is unknown. A small buffer has it next to an
    /// incomplete fixed header, which has at most four bytes.
    private var leastSpace: Int { min(4 * 1_024, capacity / 2) }

    /// The number of bytes that are needed to continue with a packet whose size is known. A surplus counts in part,
    /// because its bytes make space for one another.
    private var lacking: Int {
        max(required - (end - start), 0) + min(oversized?.surplus ?? 0, capacity / 4)
    }

    /// Makes space for the next read: moves the buffered bytes to the front, or grows the buffer for a large packet.
    private mutating func makeSpace() {
        if start == end { (start, end) = (0, 0) }
        let wanted = lacking > 0 ? min(leastSpace, lacking) : leastSpace
        if storage.count - end < wanted { move(from: start, to: 0) }
        if storage.count - end < wanted, lacking > 0 {
            // The size doubles at most, so that a length alone does not reserve memory.
            let size = min(max(2 * storage.count, end + wanted), end + lacking)
            storage.append(contentsOf: repeatElement(0, count: size - storage.count))
        } else if end == 0, storage.count > 4 * capacity {
            storage = [UInt8](repeating: 0, count: capacity)
        }
    }

    /// Moves the bytes from one index to the end of the buffered bytes. If they include all of them, the start moves, too.
    private mutating func move(from source: Int, to target: Int) {
        guard source > target else { return }
        let count = end - source
        storage.withUnsafeMutableBytes { bytes in
            let moved = UnsafeRawBufferPointer(rebasing: bytes[source..<source + count])
            UnsafeMutableRawBufferPointer(rebasing: bytes[target..<target + count]).copyMemory(from: moved)
        }
        end = target + count
        if source == start { start = target }
    }
}
