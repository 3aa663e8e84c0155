public import SignalboxCore

/// How frames become actions.
public struct WebSocketFrames: Sendable, Hashable {
    /// What a text message is.
    public enum Text: Sendable, Hashable {
        /// It brings its envelope: name, id and body. An array is a batch of such messages.
        case envelope(PayloadEnvelope)
        /// It is the body of this action, whatever it says; JSON, or text as it is.
        case action(ActionName, PayloadKind)
    }

    /// What a text message is; a standard envelope by default.
    public var text: Text
    /// The action whose body a binary message is, as bytes; `nil`, the default: binary messages are refused, and their
    /// connection is closed with 1003.
    public var binary: ActionName?
    /// How many messages an array in one frame may hold, 1 to 10,000; 256 by default. A longer one is one rejected arrival.
    public var batch = 256

    /// Frames as given.
    public init(text: Text = .envelope(.standard), binary: ActionName? = nil) {
        self.text = text
        self.binary = binary
    }
}

/// How messages of either kind are read, worked out once for all of them.
struct FrameEnvelopes {
    /// A text message, unless it is a batch.
    let text: Envelope
    let textPayload: PayloadKind
    /// Whether a text message that is an array is a batch of messages.
    let textMayBeBatch: Bool
    /// `nil` where binary messages are refused.
    let binary: Envelope?

    init(_ frames: WebSocketFrames) {
        switch frames.text {
        case .envelope(let envelope):
            text = .payload(envelope)
            textPayload = .json
            textMayBeBatch = true
        case .action(let action, let payload):
            text = .route(RouteNaming(action: action))
            textPayload = payload
            textMayBeBatch = false
        }
        binary = frames.binary.map { .route(RouteNaming(action: $0)) }
    }
}

/// The elements of an array that one frame brings, each a message of its own.
///
/// Only brackets, commas and strings are looked at here: whether an element is JSON is found when it is read.
struct FrameElements {
    /// Why the frame is no batch.
    enum Fault: Error, Equatable {
        case syntax(offset: Int)
        case empty
        case tooMany
    }

    /// Whether the frame's first byte that is not white space opens an array.
    static func isArray(_ frame: UnsafeRawBufferPointer) -> Bool {
        frame.first { !isSpace($0) } == UInt8(ascii: "[")
    }

    /// Where each element is, without the white space around it.
    ///
    /// - Parameter limit: the most elements.
    static func places(in frame: UnsafeRawBufferPointer, limit: Int) throws(Fault) -> [Range<Int>] {
        var places: [Range<Int>] = []
        guard var index = frame.firstIndex(where: { !isSpace($0) }) else { throw .empty }
        index += 1
        while true {
            let (end, last) = try elementEnd(in: frame, from: index)
            let place = trimmed(index..<end, in: frame)
            if place.isEmpty {
                guard last, places.isEmpty else { throw .syntax(offset: end) }
            } else {
                guard places.count < limit else { throw .tooMany }
                places.append(place)
            }
            index = end + 1
            if last { break }
        }
        if let more = frame[index...].firstIndex(where: { !isSpace($0) }) { throw .syntax(offset: more) }
        guard !places.isEmpty else { throw .empty }
        return places
    }

    // The comma or bracket after an element, and whether it is the bracket.
    private static func elementEnd(
        in frame: UnsafeRawBufferPointer,
        from start: Int
    ) throws(Fault) -> (end: Int, isLast: Bool) {
        var depth = 0
        var index = start
        while index < frame.count {
            switch frame[index] {
            case UInt8(ascii: "\""): index = try stringEnd(in: frame, from: index)
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]") where depth == 0: return (index, true)
            case UInt8(ascii: ",") where depth == 0: return (index, false)
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                guard depth >= 0 else { throw .syntax(offset: index) }
            default: break
            }
            index += 1
        }
        throw .syntax(offset: frame.count)
    }

    private static func stringEnd(in frame: UnsafeRawBufferPointer, from start: Int) throws(Fault) -> Int {
        var index = start + 1
        while index < frame.count {
            switch frame[index] {
            case UInt8(ascii: "\""): return index
            case UInt8(ascii: "\\"): index += 2
            default: index += 1
            }
        }
        throw .syntax(offset: frame.count)
    }

    private static func trimmed(_ range: Range<Int>, in frame: UnsafeRawBufferPointer) -> Range<Int> {
        var range = range
        while let first = range.first, isSpace(frame[first]) { range = (first + 1)..<range.upperBound }
        while let last = range.last, isSpace(frame[last]) { range = range.lowerBound..<last }
        return range
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }
}

extension FrameElements.Fault {
    /// The fault as readers of messages tell it.
    func bodyError(limit: Int) -> BodyError {
        switch self {
        case .syntax(let offset): BodyError(.invalidSyntax, offset: offset, detail: "an array of messages expected")
        case .empty: BodyError(.invalidValue, detail: "an array of at least one message expected")
        case .tooMany: BodyError(.tooLarge, detail: "an array of at most \(limit) messages expected")
        }
    }
}
