import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// A payload as commands print it: the JSON value, else text, else Base64.
struct PrintedPayload {
    let bytes: Bytes
    /// The payload as compact JSON, or `nil` if it is empty or not JSON.
    let json: [UInt8]?

    /// - Parameters:
    ///   - limits: The limits of JSON; anything beyond them is text or bytes.
    ///   - mayBeJSON: Whether JSON is recognized.
    init(_ bytes: Bytes, limits: MessageLimits = MessageLimits(), mayBeJSON: Bool = true) {
        self.bytes = bytes
        let isJSON = mayBeJSON && !bytes.isEmpty && (try? Body(json: bytes, limits: limits)) != nil
        json = isJSON ? EscapedJSON.compact(bytes) : nil
    }

    /// The payload for a terminal. Input that is not text is shown as its number of bytes.
    var shown: String {
        if let json { return String(decoding: json, as: UTF8.self) }
        return bytes.text.map(LineEscape.escaped) ?? "(\(bytes.count) bytes)"
    }
}

extension JSONObject {
    /// Adds the payload as the member `payload`, and `encoding` if it is Base64.
    mutating func add(_ payload: PrintedPayload) {
        if let json = payload.json { add("payload", json: json) } else { add("payload", content: payload.bytes) }
    }
}

/// A message as `subscribe` and `connect` print it.
struct MessageRecord {
    private let payload: PrintedPayload
    private let context: ActionContext
    private let patterns: [TopicPattern]
    private let isBinary: Bool

    /// - Parameter patterns: The patterns whose captures of the topic are shown.
    init(_ body: RawBody, _ context: ActionContext, patterns: [TopicPattern] = [], limits: MessageLimits) {
        self.context = context
        self.patterns = patterns
        // A topic does not tell text from bytes; a WebSocket message does.
        isBinary = body.kind == .bytes && !(context.origin.facts is PushFacts)
        payload = PrintedPayload(body.bytes, limits: limits, mayBeJSON: !isBinary)
    }

    /// Returns the output for the message, with its newline.
    func line(_ raw: RawOutput?, isTerminal: Bool) -> [UInt8] {
        raw?.line(Array(payload.bytes), isTerminal: isTerminal) ?? (isTerminal ? terminalLine : jsonLine)
    }

    /// One JSON object with a newline: `topic`, `payload`, `retained`, `qos`, `binary`, `receivedAt`, `captures`.
    private var jsonLine: [UInt8] {
        let push = context.origin.facts as? PushFacts
        var object = JSONObject()
        object.add("topic", push?.topic)
        object.add(payload)
        if let push {
            object.add("retained", push.retained)
            object.add("qos", push.qos)
        }
        if isBinary { object.add("binary", true) }
        object.add("receivedAt", WallTimeText.utc(context.action.receivedAt))
        if let captures = push.flatMap({ push in patterns.lazy.compactMap { $0.match(push.topic) }.first }) {
            object.add("captures", captures)
        }
        return object.line
    }

    /// Time of day, topic or `<`, payload.
    private var terminalLine: [UInt8] {
        let topic = (context.origin.facts as? PushFacts).map { TerminalText.column($0.topic, width: 32) } ?? "<"
        let shown = isBinary ? "(\(payload.bytes.count) bytes)" : payload.shown
        return TerminalText.line([
            TerminalText.column(WallTimeText.time(context.action.receivedAt), width: 13), topic, shown,
        ])
    }
}
