/// The frames that a server sends in one write.
///
/// The system call for a write costs more than everything else that is done for a small message, so messages that wait
/// for the same connection share one. This type needs no library, because a server's frames are not masked (RFC 6455,
/// 5.1).
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

    /// Creates an empty batch.
    ///
    /// - Parameter waitingBytes: The maximum number of bytes waiting on a connection. If it is 0, the batch has no room
    ///   for any message.
    init(waitingBytes: Int) {
        costLimit = min(FrameBatch.maximumCost, waitingBytes / FrameBatch.shareOfWaiting)
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
        FrameHead(kind, isCompressed: isCompressed, length: content.count).append(to: &bytes)
        bytes.append(contentsOf: content)
        self.cost += cost
        count += 1
    }

    /// Passes the frames to a closure, which does not change them, and empties the batch.
    mutating func take<Result>(_ write: (UnsafeMutableBufferPointer<UInt8>) -> Result) -> Result {
        defer {
            bytes.removeAll(keepingCapacity: true)
            cost = 0
            count = 0
        }
        return bytes.withUnsafeMutableBufferPointer { write($0) }
    }
}

/// The head of an unmasked frame that contains a whole message (RFC 6455, 5.2).
struct FrameHead {
    /// The maximum size of a head, in bytes.
    static let maximumSize = 10

    private static let final: UInt8 = 0x80
    private static let text: UInt8 = 0x1
    private static let binary: UInt8 = 0x2
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
            | (kind == .text ? FrameHead.text : FrameHead.binary)
        self.length = length
    }

    func append(to bytes: inout [UInt8]) {
        bytes.append(first)
        if length <= FrameHead.shortLimit {
            bytes.append(UInt8(length))
        } else if let length = UInt16(exactly: length) {
            bytes.append(FrameHead.twoBytes)
            withUnsafeBytes(of: length.bigEndian) { bytes.append(contentsOf: $0) }
        } else {
            bytes.append(FrameHead.eightBytes)
            withUnsafeBytes(of: UInt64(length).bigEndian) { bytes.append(contentsOf: $0) }
        }
    }
}
