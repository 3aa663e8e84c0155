#if WebSocket
import SecureTransport

/// The frames that a connection sends in one write.
///
/// The system call for a write costs more than everything else that is done for a small message, so messages that wait
/// for the same connection share one.
struct FrameBatch {
    /// The maximum number of messages in a write.
    static let messageLimit = 64
    /// The maximum cost of a write, in bytes. A larger one would save little more.
    static let maximumCost = 32_768
    // A write counts as waiting until the system has accepted all of it, even if only its last byte is missing. A larger
    // part of the limit would make a connection full too early.
    private static let shareOfWaiting = 16

    /// The complete frames.
    private(set) var bytes: [UInt8] = []
    /// The sum of the messages' costs.
    private(set) var cost = 0
    private var count = 0
    private let costLimit: Int
    /// The masks of a client's frames (RFC 6455, 5.1), or `nil` on a server.
    private var masks: FrameMasks?

    /// Creates an empty batch.
    ///
    /// - Parameters:
    ///   - waitingBytes: The maximum number of bytes waiting on a connection.
    ///   - isMasked: Whether the frames are those of a client.
    init(waitingBytes: Int, isMasked: Bool = false) {
        costLimit = min(FrameBatch.maximumCost, waitingBytes / FrameBatch.shareOfWaiting)
        masks = isMasked ? FrameMasks() : nil
    }

    var isEmpty: Bool { count == 0 }

    /// Returns whether a message fits, given its cost before it is compressed.
    func hasRoom(forCost cost: Int) -> Bool {
        count < FrameBatch.messageLimit && cost <= costLimit - self.cost
    }

    /// Appends the frame of a message.
    ///
    /// - Parameters:
    ///   - content: The message, or the compressed message.
    ///   - cost: The cost of the message before it is compressed.
    mutating func append(_ content: [UInt8], _ kind: MessageKind, isCompressed: Bool, cost: Int) {
        append(content, after: FrameHead(kind, isCompressed: isCompressed, length: content.count))
        self.cost += cost
    }

    /// Appends a control frame, whose cost is 0.
    ///
    /// - Parameter content: At most 125 bytes (RFC 6455, 5.5).
    mutating func append(_ control: FrameOpcode, _ content: [UInt8]) {
        append(content, after: FrameHead(control, length: content.count))
    }

    private mutating func append(_ content: [UInt8], after head: FrameHead) {
        count += 1
        guard let key = masks?.next().littleEndian else {
            head.append(to: &bytes)
            bytes.append(contentsOf: content)
            return
        }
        head.append(to: &bytes, isMasked: true)
        withUnsafeBytes(of: key) { bytes.append(contentsOf: $0) }
        let start = bytes.count
        bytes.append(contentsOf: content)
        bytes.withUnsafeMutableBytes { storage in
            content.withUnsafeBytes { FrameMasks.mask($0, $0.count, key, into: storage, at: start) }
        }
    }

    /// Passes the frames to a closure, which does not change them, and empties the batch.
    mutating func take<Result>(_ write: (UnsafeMutableBufferPointer<UInt8>) -> Result) -> Result {
        defer { removeAll() }
        return bytes.withUnsafeMutableBufferPointer { write($0) }
    }

    /// Empties the batch. The memory is kept, unless a message was larger than the others may be.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.capacity <= 2 * FrameBatch.maximumCost)
        cost = 0
        count = 0
    }
}

/// The head of a frame that contains a whole message, or of a control frame (RFC 6455, 5.2).
struct FrameHead {
    /// The maximum size of a head without a mask, in bytes.
    static let maximumSize = 10

    private static let final: UInt8 = 0x80
    private static let masked: UInt8 = 0x80
    // Longer content has its length in the following two or eight bytes.
    private static let shortLimit = 125
    private static let twoBytes: UInt8 = 126
    private static let eightBytes: UInt8 = 127

    private let first: UInt8
    private let length: Int

    /// Creates a head.
    ///
    /// - Parameter length: The length of the content, which is compressed if `isCompressed` is true.
    init(_ kind: MessageKind, isCompressed: Bool, length: Int) {
        // Compression sets RSV1 (RFC 7692, 6).
        first =
            FrameHead.final | (isCompressed ? FrameChunk.compressedBit : 0)
            | (kind == .text ? FrameOpcode.text : .binary).rawValue
        self.length = length
    }

    /// Creates the head of a control frame.
    init(_ control: FrameOpcode, length: Int) {
        first = FrameHead.final | control.rawValue
        self.length = length
    }

    /// - Parameter isMasked: Whether a mask follows the head.
    func append(to bytes: inout [UInt8], isMasked: Bool = false) {
        let masked = isMasked ? FrameHead.masked : 0
        bytes.append(first)
        if length <= FrameHead.shortLimit {
            bytes.append(masked | UInt8(length))
        } else if let length = UInt16(exactly: length) {
            bytes.append(masked | FrameHead.twoBytes)
            withUnsafeBytes(of: length.bigEndian) { bytes.append(contentsOf: $0) }
        } else {
            bytes.append(masked | FrameHead.eightBytes)
            withUnsafeBytes(of: UInt64(length).bigEndian) { bytes.append(contentsOf: $0) }
        }
    }
}
#endif
