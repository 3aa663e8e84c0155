#if WebSocket
import CZlib

/// Compresses the messages sent to one peer (RFC 7692, 7.2.1). Only one thread uses it.
///
/// After the first message, a deflater uses about 55 KB.
final class MessageDeflater {
    /// The size of the smallest message to compress, in bytes. With context takeover, compression saves bytes for
    /// messages of at least this size.
    static let minimumMessageSize = 16
    // The smallest window that zlib supports for raw deflate.
    private static let minimumWindowBits: Int32 = 9
    // This window needs 32 KB, plus 16 KB for everything else. zlib's maximum would need 256 KB per connection.
    private static let maximumWindowBits: Int32 = 13
    private static let memoryLevel: Int32 = 5
    // The fastest level, because the thread also serves other connections.
    private static let level: Int32 = 1
    private static let bufferBytes = 16_384
    private static let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]

    private let windowBits: Int32
    private let contextTakeover: Bool
    private let stream: UnsafeMutablePointer<z_stream>
    private var isStreamOpen = false

    /// Creates a deflater, or returns `nil` if the peer's window is smaller than zlib supports.
    ///
    /// - Parameters:
    ///   - windowBits: The size of the peer's window, as a power of 2.
    ///   - contextTakeover: Whether messages may refer to earlier ones.
    init?(windowBits: Int, contextTakeover: Bool) {
        guard let bits = Int32(exactly: windowBits), bits >= MessageDeflater.minimumWindowBits else { return nil }
        self.windowBits = min(bits, MessageDeflater.maximumWindowBits)
        self.contextTakeover = contextTakeover
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
    }

    deinit {
        endStream()
        stream.deallocate()
    }

    /// Compresses a message.
    ///
    /// - Returns: The compressed message, or `nil` if there is not enough memory, in which case the message must be
    ///   sent uncompressed.
    func deflate(_ message: [UInt8]) -> [UInt8]? {
        // zlib writes nothing if there is nothing to flush, so the block is written here (RFC 7692, 7.2.3.6).
        if message.isEmpty { return [0x00] }
        guard let count = UInt32(exactly: message.count), isStreamOpen || beginStream() else { return nil }
        var packed: [UInt8] = []
        let isWhole = message.withUnsafeBytes { bytes in
            stream.pointee.next_in = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_in = count
            defer { stream.pointee.next_in = nil }
            return flush(into: &packed)
        }
        // A new stream never refers to earlier messages, so the peer does not need to know about it.
        if !contextTakeover || !isWhole { endStream() }
        guard isWhole, packed.suffix(4) == MessageDeflater.tail[...] else { return nil }
        packed.removeLast(4)
        return packed
    }

    private func flush(into packed: inout [UInt8]) -> Bool {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: MessageDeflater.bufferBytes) { buffer in
            repeat {
                stream.pointee.next_out = buffer.baseAddress
                stream.pointee.avail_out = UInt32(buffer.count)
                let result = CZlib.deflate(stream, Z_SYNC_FLUSH)
                // zlib returns Z_BUF_ERROR if the previous call filled the buffer exactly.
                guard result == Z_OK || result == Z_BUF_ERROR else { return false }
                let count = buffer.count - Int(stream.pointee.avail_out)
                packed.append(contentsOf: UnsafeBufferPointer(start: buffer.baseAddress, count: count))
            } while stream.pointee.avail_out == 0
            return stream.pointee.avail_in == 0
        }
    }

    private func beginStream() -> Bool {
        stream.pointee = z_stream()
        let begun = cz_begin_deflate(stream, MessageDeflater.level, windowBits, MessageDeflater.memoryLevel)
        isStreamOpen = begun == Z_OK
        return isStreamOpen
    }

    private func endStream() {
        if isStreamOpen { deflateEnd(stream) }
        isStreamOpen = false
    }
}

/// Inflates the messages of one connection, in pieces of limited size (RFC 7692, 7.2.2). Only one thread uses it.
///
/// After the first message, an inflater uses about 40 KB.
final class MessageInflater {
    /// How much of an input was consumed.
    enum Progress: Equatable {
        /// All of the input was consumed.
        case done
        /// The receiver stopped after `used` bytes. The caller must pass in the remaining bytes later, even if no
        /// bytes remain.
        case stopped(used: Int)
        /// The input is not valid DEFLATE data, or there is not enough memory. The inflater cannot be used again.
        case broken
    }

    /// The maximum size of a piece, in bytes.
    static let pieceBytes = 16_384
    // The maximum, which is large enough for any window of the peer.
    private static let windowBits: Int32 = 15
    // The bytes that the sender removes from the end of a message (RFC 7692, 7.2.1).
    private static let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]
    // The value of zlib's `data_type` at a block boundary without unused bits.
    private static let atBlock: Int32 = 128

    private let contextTakeover: Bool
    private let stream: UnsafeMutablePointer<z_stream>
    private var isStreamOpen = false
    private var usedTail = 0
    /// Whether no byte of the message has arrived yet.
    private var isEmpty = true
    /// Whether a block was marked as final (RFC 7692, 7.2.3.4) and no input has followed it.
    private var hasEnded = false

    /// Creates an inflater.
    ///
    /// - Parameter contextTakeover: Whether messages may refer to earlier ones.
    init(contextTakeover: Bool) {
        self.contextTakeover = contextTakeover
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
    }

    deinit {
        endStream()
        stream.deallocate()
    }

    /// Inflates a part of a message.
    ///
    /// - Parameters:
    ///   - input: The received bytes. After ``Progress/stopped(used:)``, these are the bytes that were not used.
    ///   - endsMessage: Whether the message ends with the input.
    ///   - deliver: A closure that receives each piece, and whether that piece is the last one. The last piece may be
    ///     empty. The closure returns whether to continue.
    func inflate(
        _ input: UnsafeRawBufferPointer,
        endsMessage: Bool,
        _ deliver: (UnsafeRawBufferPointer, Bool) -> Bool
    ) -> Progress {
        guard isStreamOpen || beginStream() else { return .broken }
        if !input.isEmpty {
            isEmpty = false
            hasEnded = false
        }
        return withUnsafeTemporaryAllocation(byteCount: MessageInflater.pieceBytes, alignment: 16) { buffer in
            var filled = 0
            switch drain(input, into: buffer, &filled, deliver) {
            case .done: break
            case let other: return other
            }
            if endsMessage {
                return finish(input.count, buffer, &filled, deliver)
            }
            // All of the input is consumed, so the result does not matter.
            if filled > 0 { _ = deliver(UnsafeRawBufferPointer(rebasing: buffer[..<filled]), false) }
            return .done
        }
    }

    private func finish(
        _ count: Int,
        _ buffer: UnsafeMutableRawBufferPointer,
        _ filled: inout Int,
        _ deliver: (UnsafeRawBufferPointer, Bool) -> Bool
    ) -> Progress {
        // An empty message should consist of one byte, but not all senders do this.
        if !isEmpty && !hasEnded {
            let rest = MessageInflater.tail[usedTail...]
            switch rest.withUnsafeBytes({ drain($0, into: buffer, &filled, deliver) }) {
            case .done: break
            case .stopped(let used):
                usedTail += used
                return .stopped(used: count)
            case .broken: return .broken
            }
            // Otherwise the message is truncated, and the next message would be read as its continuation.
            guard hasEnded || stream.pointee.data_type & 0xFF == MessageInflater.atBlock else { return .broken }
        }
        usedTail = 0
        isEmpty = true
        hasEnded = false
        if !contextTakeover { endStream() }
        _ = deliver(UnsafeRawBufferPointer(rebasing: buffer[..<filled]), true)
        return .done
    }

    // Consumes all of the input, and delivers the buffer each time it is full.
    private func drain(
        _ input: UnsafeRawBufferPointer,
        into buffer: UnsafeMutableRawBufferPointer,
        _ filled: inout Int,
        _ deliver: (UnsafeRawBufferPointer, Bool) -> Bool
    ) -> Progress {
        guard let count = UInt32(exactly: input.count) else { return .broken }
        stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_in = count
        defer { stream.pointee.next_in = nil }
        repeat {
            if filled == buffer.count {
                filled = 0
                guard deliver(UnsafeRawBufferPointer(buffer), false) else {
                    return .stopped(used: input.count - Int(stream.pointee.avail_in))
                }
            }
            stream.pointee.next_out = (buffer.baseAddress?.advanced(by: filled))?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = UInt32(buffer.count - filled)
            let result = CZlib.inflate(stream, Z_SYNC_FLUSH)
            filled = buffer.count - Int(stream.pointee.avail_out)
            switch result {
            case Z_OK: break
            // All of the input is consumed, and there is no pending output.
            case Z_BUF_ERROR: return stream.pointee.avail_in == 0 ? .done : .broken
            case Z_STREAM_END:
                // The next message may refer to this one (RFC 7692, 7.2.3.4).
                guard inflateResetKeep(stream) == Z_OK else { return .broken }
                hasEnded = stream.pointee.avail_in == 0
            default: return .broken
            }
        } while stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0
        return .done
    }

    private func beginStream() -> Bool {
        stream.pointee = z_stream()
        isStreamOpen = cz_begin_inflate(stream, MessageInflater.windowBits) == Z_OK
        return isStreamOpen
    }

    private func endStream() {
        if isStreamOpen { inflateEnd(stream) }
        isStreamOpen = false
    }
}
#endif
