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

/// Inflates the compressed messages of one connection, in pieces of bounded size (RFC 7692, 7.2.2). Belongs to one thread.
///
/// Takes about 40 KB from the first message on.
final class MessageInflater {
    /// How far an input was taken.
    enum Progress: Equatable {
        /// All of it.
        case done
        /// So many bytes, as no more pieces are wanted for now: the rest is to be given again, also when it is empty.
        case stopped(used: Int)
        /// It is no message compressed with DEFLATE, or memory is missing. Nothing can be inflated after that.
        case broken
    }

    /// The most bytes of a piece.
    static let pieceBytes = 16_384
    // Whatever the other side makes do with.
    private static let windowBits: Int32 = 15
    // What the sender leaves out at a message's end (RFC 7692, 7.2.1).
    private static let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]
    // At the beginning of a block, and of a byte.
    private static let atBlock: Int32 = 128

    private let keepsContext: Bool
    private let stream: UnsafeMutablePointer<z_stream>
    private var isMade = false
    private var usedTail = 0
    /// Whether nothing of the message has come.
    private var isEmpty = true
    /// Whether a block said that it is the last (RFC 7692, 7.2.3.4), and nothing has come since.
    private var hasEnded = false

    /// - Parameter keepsContext: whether messages may refer to those before.
    init(keepsContext: Bool) {
        self.keepsContext = keepsContext
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
    }

    deinit {
        unmake()
        stream.deallocate()
    }

    /// Inflates a part of a message.
    ///
    /// - Parameters:
    ///   - input: what came; after ``Progress/stopped(used:)`` what was left of it.
    ///   - endsMessage: whether the message ends with it.
    ///   - take: gets each piece, and whether it is the message's last, which may be empty. Says whether to go on.
    func inflate(
        _ input: UnsafeRawBufferPointer,
        endsMessage: Bool,
        _ take: (UnsafeRawBufferPointer, Bool) -> Bool
    ) -> Progress {
        guard isMade || make() else { return .broken }
        if !input.isEmpty {
            isEmpty = false
            hasEnded = false
        }
        return withUnsafeTemporaryAllocation(byteCount: MessageInflater.pieceBytes, alignment: 16) { room in
            var filled = 0
            switch drain(input, into: room, &filled, take) {
            case .done: break
            case let other: return other
            }
            if endsMessage {
                return finish(input.count, room, &filled, take)
            }
            // Nothing is left, whatever the answer is.
            if filled > 0 { _ = take(UnsafeRawBufferPointer(rebasing: room[..<filled]), false) }
            return .done
        }
    }

    private func finish(
        _ count: Int,
        _ room: UnsafeMutableRawBufferPointer,
        _ filled: inout Int,
        _ take: (UnsafeRawBufferPointer, Bool) -> Bool
    ) -> Progress {
        // A sender that has nothing to say should send a byte, but not all do.
        if !isEmpty && !hasEnded {
            let rest = MessageInflater.tail[usedTail...]
            switch rest.withUnsafeBytes({ drain($0, into: room, &filled, take) }) {
            case .done: break
            case .stopped(let used):
                usedTail += used
                return .stopped(used: count)
            case .broken: return .broken
            }
            // Otherwise the message was cut off, and the next would continue it.
            guard hasEnded || stream.pointee.data_type & 0xFF == MessageInflater.atBlock else { return .broken }
        }
        usedTail = 0
        isEmpty = true
        hasEnded = false
        if !keepsContext { unmake() }
        _ = take(UnsafeRawBufferPointer(rebasing: room[..<filled]), true)
        return .done
    }

    // Takes the whole input, and hands over the room each time that it is full.
    private func drain(
        _ input: UnsafeRawBufferPointer,
        into room: UnsafeMutableRawBufferPointer,
        _ filled: inout Int,
        _ take: (UnsafeRawBufferPointer, Bool) -> Bool
    ) -> Progress {
        guard let count = UInt32(exactly: input.count) else { return .broken }
        stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_in = count
        defer { stream.pointee.next_in = nil }
        repeat {
            if filled == room.count {
                filled = 0
                guard take(UnsafeRawBufferPointer(room), false) else {
                    return .stopped(used: input.count - Int(stream.pointee.avail_in))
                }
            }
            stream.pointee.next_out = (room.baseAddress?.advanced(by: filled))?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = UInt32(room.count - filled)
            let result = CZlib.inflate(stream, Z_SYNC_FLUSH)
            filled = room.count - Int(stream.pointee.avail_out)
            switch result {
            case Z_OK: break
            // All was taken, and nothing is left to be handed over.
            case Z_BUF_ERROR: return stream.pointee.avail_in == 0 ? .done : .broken
            case Z_STREAM_END:
                // The next message may refer back to this one (RFC 7692, 7.2.3.4).
                guard inflateResetKeep(stream) == Z_OK else { return .broken }
                hasEnded = stream.pointee.avail_in == 0
            default: return .broken
            }
        } while stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0
        return .done
    }

    private func make() -> Bool {
        stream.pointee = z_stream()
        isMade = cz_begin_inflate(stream, MessageInflater.windowBits) == Z_OK
        return isMade
    }

    private func unmake() {
        if isMade { inflateEnd(stream) }
        isMade = false
    }
}
