/// A part of a message as it was read: pieces of one connection come in order, and one message ends before the next begins.
struct MessagePiece {
    /// Valid during the call that brings it; may be empty.
    let bytes: UnsafeRawBufferPointer
    /// Whether a message begins with it.
    let isFirst: Bool
    /// Whether the message ends with it. A piece that is first and final is a whole message.
    let isFinal: Bool
    /// Whether the sender declared the message binary; otherwise it is text, whose UTF-8 is checked.
    let isBinary: Bool
}

/// What becomes of a connection after a piece of a message.
enum PieceVerdict: Equatable {
    /// Read on.
    case proceed
    /// Read no more from this connection until a command `resume`. Not one more piece comes.
    case pause
    /// Close the connection, what waits to be sent included. Not one more piece comes.
    case close(CloseCode, reason: String)
}

/// What a message to be sent is declared as (RFC 6455, 5.6).
enum MessageKind: Equatable, Sendable {
    /// UTF-8; anything else would break the connection.
    case text
    case binary
}

/// What may be asked of a connection besides sending text. A command for a connection that is no more does nothing.
enum FrameCommand: Equatable, Sendable {
    /// Sends a ping; the answer comes as `ponged`.
    case ping
    /// Closes after all that was sent before: the code must be sendable, the reason is cut to the limit.
    case close(CloseCode, reason: String)
    /// Closes at once; what waits to be sent is dropped, and nothing more is taken. A peer that takes nothing does not even
    /// get the code: then the connection ends after ``TransportLimits/connectWithin``, at most 5 seconds.
    case cut(CloseCode, reason: String)
    /// Reads no more, until `resume`.
    case pause
    /// Reads on; nothing was lost.
    case resume
}

/// The number in a close frame (RFC 6455, 7.4).
struct CloseCode: Hashable, Sendable {
    let number: UInt16

    static let normal = CloseCode(number: 1000)
    static let goingAway = CloseCode(number: 1001)
    static let protocolError = CloseCode(number: 1002)
    static let unacceptableData = CloseCode(number: 1003)
    /// The peer's close frame had no number; it is never sent.
    static let absent = CloseCode(number: 1005)
    static let invalidPayload = CloseCode(number: 1007)
    static let policyViolation = CloseCode(number: 1008)
    static let messageTooBig = CloseCode(number: 1009)
    static let internalError = CloseCode(number: 1011)
    static let tryAgainLater = CloseCode(number: 1013)

    /// Whether a close frame may carry it (RFC 6455, 7.4.1 and 7.4.2, and IANA's list).
    var isSendable: Bool {
        switch number {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    /// The longest reason that fits beside the number into a control frame (RFC 6455, 5.5), in bytes.
    static let reasonLimit = 123
}

/// Whether bytes that come in pieces are UTF-8 (RFC 3629, 4).
struct UTF8Stream {
    /// How many bytes of a character are still to come.
    private var missing = 0
    /// What the next of them may be.
    private var low: UInt8 = 0x80
    private var high: UInt8 = 0xBF

    /// Whether no character is cut off.
    var isComplete: Bool { missing == 0 }

    /// Whether these bytes are a text, and nothing of it is missing.
    static func isText(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var stream = UTF8Stream()
        return stream.take(bytes) && stream.isComplete
    }

    /// - Returns: whether what has come can be the beginning of a text. Nothing is to be taken after `false`.
    mutating func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var place = 0
        while place < bytes.count {
            if missing == 0 {
                place = UTF8Stream.afterASCII(bytes, place)
                guard place < bytes.count else { return true }
                guard begin(bytes[place]) else { return false }
            } else {
                guard bytes[place] >= low && bytes[place] <= high else { return false }
                (missing, low, high) = (missing - 1, 0x80, 0xBF)
            }
            place += 1
        }
        return true
    }

    private static func afterASCII(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int {
        var place = start
        // Eight bytes are looked at together.
        while bytes.count - place >= 8 {
            let word = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            guard word & 0x8080_8080_8080_8080 == 0 else { break }
            place += 8
        }
        while place < bytes.count, bytes[place] < 0x80 { place += 1 }
        return place
    }

    // Neither what is longer than it need be, nor surrogates, nor what is above U+10FFFF.
    private mutating func begin(_ byte: UInt8) -> Bool {
        switch byte {
        case 0xC2...0xDF: (missing, low, high) = (1, 0x80, 0xBF)
        case 0xE0: (missing, low, high) = (2, 0xA0, 0xBF)
        case 0xED: (missing, low, high) = (2, 0x80, 0x9F)
        case 0xE1...0xEF: (missing, low, high) = (2, 0x80, 0xBF)
        case 0xF0: (missing, low, high) = (3, 0x90, 0xBF)
        case 0xF1...0xF3: (missing, low, high) = (3, 0x80, 0xBF)
        case 0xF4: (missing, low, high) = (3, 0x80, 0x8F)
        default: return false
        }
        return true
    }
}
