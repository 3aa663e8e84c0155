public import SignalboxCore

/// Determines which actions the frames of a connection become.
///
/// By default, each text message is a JSON envelope that contains the action's name, and binary messages are rejected.
/// Change this for a peer that does not use these envelopes. For example, each text message can be the body of the same
/// action:
///
/// ```swift
/// configuration.frames = WebSocketFrames(text: .action("tick", .json))
/// ```
public struct WebSocketFrames: Sendable, Hashable {
    /// What a text message contains.
    public enum Text: Sendable, Hashable {
        /// An envelope with a name, an id and a body. An array is a batch of such envelopes.
        case envelope(PayloadEnvelope)
        /// The body of this action, as JSON or as plain text.
        case action(ActionName, PayloadKind)
    }

    /// What text messages contain. The default is the standard envelope.
    public var text: Text
    /// The action whose body is the content of a binary message.
    ///
    /// If it is `nil`, which is the default, the source rejects any binary message and closes the connection with 1003.
    public var binary: ActionName?
    /// The maximum number of messages in a batch. Must be between 1 and 10,000; the default is 256.
    ///
    /// A batch that is longer becomes a single rejected arrival.
    public var batch = 256

    /// Creates a mapping from frames to actions.
    public init(text: Text = .envelope(.standard), binary: ActionName? = nil) {
        self.text = text
        self.binary = binary
    }
}

/// The envelopes for text and binary messages, which each source computes once.
struct FrameEnvelopes {
    /// The envelope for a text message, or for each message in a batch.
    let text: Envelope
    let textPayload: PayloadKind
    /// Whether a text message that is an array is treated as a batch.
    let textMayBeBatch: Bool
    /// The envelope for a binary message, or `nil` if binary messages are rejected.
    let binary: Envelope?

    /// Why a binary message is rejected.
    static let binaryError = BodyError(.typeMismatch, detail: "expected a text message, not a binary one")

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

/// Splits an array in a frame into its elements, each of which is a message.
///
/// This type looks only at brackets, commas and strings, because each element is validated when it is parsed.
struct FrameElements {
    static let empty = BodyError(.invalidValue, detail: "expected an array of at least one message")

    static func syntax(offset: Int) -> BodyError {
        BodyError(.invalidSyntax, offset: offset, detail: "expected an array of messages")
    }

    static func tooMany(limit: Int) -> BodyError {
        BodyError(.tooLarge, detail: "expected an array of at most \(limit) messages")
    }

    /// Returns whether the frame starts with an array, not counting leading white space.
    static func isArray(_ frame: UnsafeRawBufferPointer) -> Bool {
        frame.first { !isSpace($0) } == UInt8(ascii: "[")
    }

    /// Returns the range of each element, without surrounding white space.
    ///
    /// - Parameter limit: The maximum number of elements.
    static func ranges(in frame: UnsafeRawBufferPointer, limit: Int) throws(BodyError) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        guard var index = frame.firstIndex(where: { !isSpace($0) }) else { throw empty }
        index += 1
        while true {
            let (end, last) = try elementEnd(in: frame, from: index)
            let range = trimmed(index..<end, in: frame)
            if range.isEmpty {
                guard last, ranges.isEmpty else { throw syntax(offset: end) }
            } else {
                guard ranges.count < limit else { throw tooMany(limit: limit) }
                ranges.append(range)
            }
            index = end + 1
            if last { break }
        }
        if let more = frame[index...].firstIndex(where: { !isSpace($0) }) { throw syntax(offset: more) }
        guard !ranges.isEmpty else { throw empty }
        return ranges
    }

    // Returns the offset of the comma or bracket after an element, and whether it is the bracket.
    private static func elementEnd(
        in frame: UnsafeRawBufferPointer,
        from start: Int
    ) throws(BodyError) -> (end: Int, isLast: Bool) {
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
                guard depth >= 0 else { throw syntax(offset: index) }
            default: break
            }
            index += 1
        }
        throw syntax(offset: frame.count)
    }

    private static func stringEnd(in frame: UnsafeRawBufferPointer, from start: Int) throws(BodyError) -> Int {
        var index = start + 1
        while index < frame.count {
            switch frame[index] {
            case UInt8(ascii: "\""): return index
            case UInt8(ascii: "\\"): index += 2
            default: index += 1
            }
        }
        throw syntax(offset: frame.count)
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
