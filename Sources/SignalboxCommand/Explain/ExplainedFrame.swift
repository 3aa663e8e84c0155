import SignalboxCore
import WebSocketChat

/// A WebSocket message as a source would read it.
struct ExplainedFrame {
    let bytes: [UInt8]
    let isBinary: Bool
    let frames: WebSocketFrames

    /// - Throws: ``CommandRefusal`` when the source would take no such message, or many from it.
    func arrival(from origin: Origin, _ limits: MessageLimits) throws(CommandRefusal) -> Arrival? {
        let (envelope, payload) = try reading()
        var batch = ArrivalBatch(pool: ArrivalPool(maximumKept: 0), limits: limits)
        bytes.withUnsafeBytes {
            batch.append($0, token: 0, origin: origin, receivedAt: .now, envelope: envelope, payload: payload)
        }
        return batch.take().first
    }

    private func reading() throws(CommandRefusal) -> (Envelope, PayloadKind) {
        if isBinary {
            guard let action = frames.binary else {
                throw CommandRefusal(
                    .usage,
                    "binary messages close the connection with 1003: 'frames' names no 'binary'"
                )
            }
            return (.route(RouteNaming(action: action)), .bytes)
        }
        switch frames.text {
        case .action(let action, let payload): return (.route(RouteNaming(action: action)), payload)
        case .envelope(let envelope):
            let first = bytes.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
            guard first != UInt8(ascii: "[") else {
                throw CommandRefusal(.usage, "an array is a batch of messages; give one of them")
            }
            return (.payload(envelope), .json)
        }
    }
}
