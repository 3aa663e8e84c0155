/// Divides the bytes of a WebSocket server into frames (RFC 6455, 5.2). This is a pure machine, which copies no data.
///
/// The owner passes each piece of bytes to ``next(in:at:)`` until that method returns `nil`. The result does not depend
/// on how the bytes are divided into pieces, except that the data of a frame comes in as many ranges.
///
/// A message may have several frames and any length, because its data is passed on as it arrives. Only the content of
/// one control frame is stored, which has at most 125 bytes (RFC 6455, 5.5).
package struct FrameReader: Sendable {
    /// What the messages mean to the owner.
    package enum Content: Hashable, Sendable {
        /// Binary messages carry bytes, and the borders of messages have no meaning. Neither text nor extensions are
        /// valid, and no range of data is empty.
        case bytes
        /// Each message has a meaning. Text is valid, and an empty frame is reported as an empty range. If messages may be
        /// compressed, their first frames may have the bit for it (RFC 7692, 6).
        case messages(mayBeCompressed: Bool)
    }

    /// What the server sent.
    package enum Piece: Hashable, Sendable {
        /// Data of a message, at these positions of the given bytes.
        case data(Range<Int>)
        /// A ping. Its content is in ``FrameReader/control``, and must be sent back.
        case ping
        case pong
        /// The server's last frame, with its status (RFC 6455, 7.4) if it has one.
        case close(UInt16?)
    }

    private static let compressedBit: UInt8 = 0x40

    // Without associated values, because it is compared for each byte of a header.
    private enum Position: Sendable {
        case start
        case length
        /// In a length of 2 or 8 bytes.
        case longLength
        case content
        /// After a frame that closes the connection. Nothing that follows has a meaning (RFC 6455, 5.5.1).
        case closed
        case failed
    }

    /// The content of the last control frame.
    package private(set) var control: [UInt8] = []
    /// The reserved bits of the frame with the last data, at their positions in its first byte.
    package private(set) var reserved: UInt8 = 0
    /// Whether the last data belongs to a binary message.
    package private(set) var isBinary = false
    private let content: Content
    private var position = Position.start
    private var opcode = FrameOpcode.binary
    private var length: UInt64 = 0
    /// How many bytes of a length of 2 or 8 bytes are missing.
    private var missingOfLength = 0
    /// The least length that needs as many bytes.
    private var leastLength: UInt64 = 0
    private var violation: FrameViolation?
    /// How many bytes of the frame's content are missing.
    private var missing = 0
    /// Whether the frame, or the one before a control frame, is not the last one of its message.
    private var isInMessage = false

    package init(_ content: Content = .bytes) {
        self.content = content
    }

    /// Whether the last data ends its frame.
    package var endsFrame: Bool { missing == 0 }

    /// Whether the last data ends its message.
    package var endsMessage: Bool { missing == 0 && !isInMessage }

    /// Whether the server's last message is complete, so that the connection may end here.
    var isBetweenMessages: Bool { position == .closed || position == .start && !isInMessage }

    /// The reason that the server gave with its close frame. It is empty before such a frame.
    package var closeReason: String {
        position == .closed ? String(decoding: control.dropFirst(2), as: UTF8.self) : ""
    }

    /// Returns the next piece that begins at `offset`, or `nil` if there is none in the rest of the bytes.
    ///
    /// - Parameter offset: A position in the bytes, which this method moves behind what it has read.
    /// - Throws: ``FrameViolation``, also in each later call.
    package mutating func next(in bytes: UnsafeRawBufferPointer, at offset: inout Int) throws(FrameViolation) -> Piece?
    {
        if let violation { throw violation }
        while offset < bytes.count {
            if position == .content {
                if let piece = try takeContent(bytes, &offset) { return piece }
                continue
            }
            if position == .closed {
                offset = bytes.count
                return nil
            }
            let byte = bytes[offset]
            offset += 1
            try takeHeader(byte)
            if position == .content, missing == 0, let piece = try endFrame() { return piece }
        }
        return nil
    }

    // MARK: - The header

    private mutating func takeHeader(_ byte: UInt8) throws(FrameViolation) {
        switch position {
        case .start: try takeStart(byte)
        case .length: try takeLength(byte)
        case .longLength:
            length = length << 8 | UInt64(byte)
            missingOfLength -= 1
            guard missingOfLength == 0 else { return }
            // A length must have the shortest of the three forms, and 63 bits (RFC 6455, 5.2).
            guard length >= leastLength, let length = Int(exactly: length) else { throw fail(.length) }
            missing = length
            position = .content
        case .content, .closed, .failed: break
        }
    }

    private mutating func takeStart(_ byte: UInt8) throws(FrameViolation) {
        let reserved = byte & 0x70
        guard reserved == 0 || mayHave(reserved, byte & 0x0F) else { throw fail(.reservedBits) }
        guard let opcode = FrameOpcode(rawValue: byte & 0x0F) else { throw fail(.opcode(byte & 0x0F)) }
        let isLast = byte & 0x80 != 0
        switch opcode {
        case .continuation:
            guard isInMessage else { throw fail(.continuation) }
            isInMessage = !isLast
            self.reserved = reserved
        case .text, .binary:
            guard opcode == .binary || content != .bytes else { throw fail(.text) }
            guard !isInMessage else { throw fail(.interruptedMessage) }
            isInMessage = !isLast
            self.reserved = reserved
            isBinary = opcode == .binary
        case .close, .ping, .pong:
            guard isLast else { throw fail(.fragmentedControl) }
            control.removeAll(keepingCapacity: true)
        }
        self.opcode = opcode
        position = .length
    }

    // Only an extension can give these bits a meaning, and only at the start of a message.
    private func mayHave(_ reserved: UInt8, _ opcode: UInt8) -> Bool {
        guard content == .messages(mayBeCompressed: true), reserved == FrameReader.compressedBit else { return false }
        return opcode == FrameOpcode.text.rawValue || opcode == FrameOpcode.binary.rawValue
    }

    private mutating func takeLength(_ byte: UInt8) throws(FrameViolation) {
        guard byte & 0x80 == 0 else { throw fail(.masked) }
        guard byte > 125 else {
            missing = Int(byte)
            position = .content
            return
        }
        guard !opcode.isControl else { throw fail(.controlLength) }
        length = 0
        (missingOfLength, leastLength) = byte == 126 ? (2, 126) : (8, 65_536)
        position = .longLength
    }

    // MARK: - The content

    private mutating func takeContent(
        _ bytes: UnsafeRawBufferPointer,
        _ offset: inout Int
    ) throws(FrameViolation) -> Piece? {
        let range = offset..<(offset + min(missing, bytes.count - offset))
        offset = range.upperBound
        missing -= range.count
        guard opcode.isControl else {
            if missing == 0 { position = .start }
            return .data(range)
        }
        control.append(contentsOf: bytes[range])
        return missing == 0 ? try endFrame() : nil
    }

    private mutating func endFrame() throws(FrameViolation) -> Piece? {
        position = .start
        switch opcode {
        // Only an empty frame ends here.
        case .continuation, .text, .binary: return content == .bytes ? nil : .data(0..<0)
        case .ping: return .ping
        case .pong: return .pong
        case .close:
            let status = try closeStatus()
            position = .closed
            return .close(status)
        }
    }

    private mutating func closeStatus() throws(FrameViolation) -> UInt16? {
        guard !control.isEmpty else { return nil }
        guard control.count > 1 else { throw fail(.closeStatus) }
        let status = UInt16(control[0]) << 8 | UInt16(control[1])
        switch status {
        // 1004 to 1006 and 1015 are never sent, and below 3000 nothing else has a meaning (RFC 6455, 7.4; IANA).
        case 1000...1003, 1007...1014, 3000...4999: break
        default: throw fail(.closeStatus)
        }
        guard String(validating: control[2...], as: UTF8.self) != nil else { throw fail(.closeReason) }
        return status
    }

    private mutating func fail(_ violation: FrameViolation) -> FrameViolation {
        position = .failed
        self.violation = violation
        return violation
    }
}

/// The kind of a frame (RFC 6455, 11.8).
package enum FrameOpcode: UInt8, Sendable {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    /// Whether the frame is not part of a message, so that it may come between the frames of one (RFC 6455, 5.5).
    var isControl: Bool { rawValue >= FrameOpcode.close.rawValue }
}

/// How a server violated the framing of a WebSocket.
package enum FrameViolation: Error, Hashable, Sendable {
    /// A reserved bit is set that no agreed extension defines (RFC 6455, 5.2).
    case reservedBits
    /// This opcode has no meaning (RFC 6455, 5.2).
    case opcode(UInt8)
    /// A text frame among binary ones, which cannot carry arbitrary bytes.
    case text
    /// Only a client's frames are masked (RFC 6455, 5.1).
    case masked
    /// The length has more bytes than it needs, or 64 bits (RFC 6455, 5.2).
    case length
    /// A control frame has more than 125 bytes (RFC 6455, 5.5).
    case controlLength
    /// A control frame is divided into several (RFC 6455, 5.5).
    case fragmentedControl
    /// A frame continues a message that was never begun (RFC 6455, 5.4).
    case continuation
    /// A message begins before the last one has ended (RFC 6455, 5.4).
    case interruptedMessage
    /// A close frame has a status that is incomplete or never sent (RFC 6455, 7.4).
    case closeStatus
    /// The reason of a close frame is not UTF-8 (RFC 6455, 8.1).
    case closeReason

    /// The status to close the connection with (RFC 6455, 7.4.1).
    package var status: UInt16 {
        switch self {
        case .text: 1003
        case .closeReason: 1007
        default: 1002
        }
    }

    /// What the server did, which continues a sentence that begins with "the server".
    package var text: String {
        switch self {
        case .reservedBits: "sent a WebSocket frame with a reserved bit"
        case .opcode(let number): "sent a WebSocket frame with the reserved opcode \(number)"
        case .text: "sent a WebSocket text frame instead of a binary frame"
        case .masked: "sent a masked WebSocket frame"
        case .length: "sent a WebSocket frame whose length is not well-formed"
        case .controlLength: "sent a WebSocket control frame with more than 125 bytes"
        case .fragmentedControl: "sent a fragmented WebSocket control frame"
        case .continuation: "continued a WebSocket message that it had not begun"
        case .interruptedMessage: "began a WebSocket message before it had ended the last one"
        case .closeStatus: "closed the WebSocket with an invalid status"
        case .closeReason: "closed the WebSocket with a reason that is not UTF-8"
        }
    }
}
