@testable import SecureTransport
@testable import WebSocketChat

/// The bytes that a server sends after the upgrade: a byte of settings (1: compressed, the upper half: the size of the
/// pieces) and the stream. For any input, the messages, the pings and the end do not depend on the pieces.
enum StreamTarget {
    private enum Event: Equatable {
        case message([UInt8], isBinary: Bool)
        case ping([UInt8])
        case pong
        case close(UInt16?)
        case violation(UInt16)
    }

    // Longer than any message in the seeds. A compressed message could fill the memory otherwise.
    private static let messageLimit = 1 << 20

    static func run(_ input: [UInt8]) {
        let settings = input.first ?? 0
        let stream = Array(input.dropFirst())
        let isCompressed = settings & 1 != 0
        let size = Int(settings >> 4) + 2
        let whole = events(stream, isCompressed, pieces: max(1, stream.count))
        require(events(stream, isCompressed, pieces: size) == whole, "pieces of \(size) give the same")
        require(events(stream, isCompressed, pieces: 1) == whole, "single bytes give the same")
        let ends = whole.dropLast().contains { event in
            switch event {
            case .close, .violation: true
            case .message, .ping, .pong: false
            }
        }
        require(!ends, "nothing follows the end")
    }

    private static func events(_ stream: [UInt8], _ isCompressed: Bool, pieces size: Int) -> [Event] {
        let agreement = isCompressed ? DeflateAgreement.negotiated(by: "permessage-deflate") : nil
        var run = Run(reader: FrameReader(.messages(mayBeCompressed: isCompressed)), decoder: FrameDecoder(agreement))
        var rest = stream[...]
        while !rest.isEmpty, !run.hasEnded {
            let piece = rest.prefix(size)
            rest = rest.dropFirst(size)
            piece.withUnsafeBytes { run.take($0) }
        }
        return run.events
    }

    private struct Run {
        var reader: FrameReader
        let decoder: FrameDecoder
        var events: [Event] = []
        var hasEnded = false
        private var message: [UInt8] = []

        init(reader: FrameReader, decoder: FrameDecoder) {
            self.reader = reader
            self.decoder = decoder
        }

        mutating func take(_ bytes: UnsafeRawBufferPointer) {
            var offset = 0
            do throws(FrameViolation) {
                while !hasEnded, let piece = try reader.next(in: bytes, at: &offset) {
                    switch piece {
                    case .data(let range): decode(UnsafeRawBufferPointer(rebasing: bytes[range]))
                    case .ping: events.append(.ping(reader.control))
                    case .pong: events.append(.pong)
                    case .close(let status): end(.close(status))
                    }
                }
            } catch {
                end(.violation(error.status))
            }
        }

        private mutating func decode(_ bytes: UnsafeRawBufferPointer) {
            let chunk = FrameChunk(
                bytes: bytes,
                isFinal: reader.endsMessage,
                isBinary: reader.isBinary,
                endsFrame: reader.endsFrame,
                reserved: reader.reserved
            )
            let outcome = decoder.decode(chunk) { receive($0) }
            switch outcome {
            case .proceed, .pause: break
            case .close(let code, _), .broken(let code, _): end(.violation(code.number))
            }
        }

        private mutating func receive(_ piece: MessagePiece) -> PieceVerdict {
            if piece.isFirst { message = [] }
            message.append(contentsOf: piece.bytes)
            guard message.count <= StreamTarget.messageLimit else { return .close(.messageTooBig, reason: "") }
            if piece.isFinal { events.append(.message(message, isBinary: piece.isBinary)) }
            return .proceed
        }

        private mutating func end(_ event: Event) {
            events.append(event)
            hasEnded = true
        }
    }
}
