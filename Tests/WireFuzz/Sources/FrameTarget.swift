@testable import WebSocketChat

/// Frames as the library hands them over, in chunks: a byte of flags, a byte with the length, and that many bytes. Whatever
/// comes, a message's pieces are in order, its text is UTF-8, and a paused message resumes where it stopped.
enum FrameTarget {
    private struct Message {
        /// Whether a part of it was passed to ``MessageReading``.
        var hasBegun = false
        /// The same for all frames of the message, as the library tells it.
        var isBinary = false
        /// Whether a piece of it has come.
        var isOpen = false
        var text = UTF8Stream()
    }

    static func run(_ input: [UInt8]) {
        let settings = input.first ?? 0
        let agreement = settings & 1 == 0 ? nil : DeflateAgreement.told(by: "permessage-deflate")
        let reading = MessageReading(agreement)
        var message = Message()
        var rest = input.dropFirst()
        var pauses = settings >> 4
        while let flags = rest.popFirst() {
            let length = Int(rest.popFirst() ?? 0)
            let bytes = Array(rest.prefix(length))
            rest = rest.dropFirst(length)
            guard take(bytes, flags, reading, &message, &pauses) else { return }
        }
    }

    /// - Returns: whether the connection goes on.
    private static func take(
        _ bytes: [UInt8],
        _ flags: UInt8,
        _ reading: MessageReading,
        _ message: inout Message,
        _ pauses: inout UInt8
    ) -> Bool {
        func give(_ piece: MessagePiece) -> PieceVerdict { take(piece, &message, &pauses) }
        let endsFrame = flags & 2 != 0
        let isFinal = endsFrame && flags & 1 != 0
        if !message.hasBegun { message.isBinary = flags & 4 != 0 }
        message.hasBegun = !isFinal
        let isBinary = message.isBinary
        var outcome = bytes.withUnsafeBytes { bytes in
            reading.take(
                FrameChunk(
                    bytes: bytes,
                    isFinal: isFinal,
                    isBinary: isBinary,
                    endsFrame: endsFrame,
                    reserved: flags & 0x70
                ),
                give
            )
        }
        while outcome == .pause { outcome = reading.goOn(give) }
        return outcome == .proceed
    }

    private static func take(_ piece: MessagePiece, _ message: inout Message, _ pauses: inout UInt8) -> PieceVerdict {
        require(piece.isFirst != message.isOpen, "a message begins when no other is open")
        require(piece.bytes.count <= 65_536, "a piece is bounded")
        if piece.isFirst { message.text = UTF8Stream() }
        if !piece.isBinary {
            require(message.text.take(piece.bytes), "a text is UTF-8 as far as it has come")
            require(!piece.isFinal || message.text.isComplete, "a text ends with a whole character")
        }
        message.isOpen = !piece.isFinal
        guard pauses > 0 else { return .proceed }
        pauses -= 1
        return .pause
    }
}
