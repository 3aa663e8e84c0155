import CZlib

/// Compresses the messages to one peer (RFC 7692, 7.2.1). Belongs to one thread.
///
/// Takes about 55 KB from the first message on.
final class MessageDeflater {
    /// Fewer bytes are not worth it; with messages before to refer to, these already are.
    static let smallestMessage = 16
    // The least that zlib can do without a head.
    private static let leastWindowBits: Int32 = 9
    // 32 KB for the window and 16 KB for the rest; with all that zlib may take, it would be 256 KB for each connection.
    private static let mostWindowBits: Int32 = 13
    private static let memoryLevel: Int32 = 5
    // The quickest: the thread has other connections to serve.
    private static let level: Int32 = 1
    private static let roomBytes = 16_384
    private static let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]

    private let windowBits: Int32
    private let keepsContext: Bool
    private let stream: UnsafeMutablePointer<z_stream>
    private var isMade = false

    /// - Parameters:
    ///   - windowBits: how far back the peer can look at most, as a power of 2.
    ///   - keepsContext: whether messages may refer to those before.
    /// - Returns: `nil` when the peer looks back less far than is possible here.
    init?(windowBits: Int, keepsContext: Bool) {
        guard let bits = Int32(exactly: windowBits), bits >= MessageDeflater.leastWindowBits else { return nil }
        self.windowBits = min(bits, MessageDeflater.mostWindowBits)
        self.keepsContext = keepsContext
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
    }

    deinit {
        unmake()
        stream.deallocate()
    }

    /// - Returns: the message's compressed form; `nil` when it is to be sent as it is, as memory is missing.
    func deflate(_ message: [UInt8]) -> [UInt8]? {
        // With nothing to flush zlib says nothing at all (RFC 7692, 7.2.3.6).
        if message.isEmpty { return [0x00] }
        guard let count = UInt32(exactly: message.count), isMade || make() else { return nil }
        var packed: [UInt8] = []
        let isWhole = message.withUnsafeBytes { bytes in
            stream.pointee.next_in = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_in = count
            defer { stream.pointee.next_in = nil }
            return flush(into: &packed)
        }
        // The peer need not know that what comes next refers to nothing before.
        if !keepsContext || !isWhole { unmake() }
        guard isWhole, packed.suffix(4) == MessageDeflater.tail[...] else { return nil }
        packed.removeLast(4)
        return packed
    }

    private func flush(into packed: inout [UInt8]) -> Bool {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: MessageDeflater.roomBytes) { room in
            repeat {
                stream.pointee.next_out = room.baseAddress
                stream.pointee.avail_out = UInt32(room.count)
                let result = CZlib.deflate(stream, Z_SYNC_FLUSH)
                // The latter when the last room was just enough.
                guard result == Z_OK || result == Z_BUF_ERROR else { return false }
                let count = room.count - Int(stream.pointee.avail_out)
                packed.append(contentsOf: UnsafeBufferPointer(start: room.baseAddress, count: count))
            } while stream.pointee.avail_out == 0
            return stream.pointee.avail_in == 0
        }
    }

    private func make() -> Bool {
        stream.pointee = z_stream()
        let begun = cz_begin_deflate(stream, MessageDeflater.level, windowBits, MessageDeflater.memoryLevel)
        isMade = begun == Z_OK
        return isMade
    }

    private func unmake() {
        if isMade { deflateEnd(stream) }
        isMade = false
    }
}
