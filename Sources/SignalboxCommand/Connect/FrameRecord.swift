import SignalboxCore

/// A WebSocket message as `connect` shows it.
struct FrameRecord {
    let payload: RawBody
    let context: ActionContext

    private var isBinary: Bool { payload.kind == .bytes }

    /// Text that is JSON, without needless white space.
    private var json: [UInt8]? {
        guard !isBinary else { return nil }
        return JSONPayload.compact(payload.bytes, origin: context.origin, limits: ConnectRequest.limits)
    }

    /// One JSON object with a newline.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        if let json {
            object.add("payload", json: json)
        } else {
            object.add("payload", content: payload.bytes)
        }
        if isBinary { object.add("binary", true) }
        object.add("receivedAt", WallTimeText.utc(context.action.receivedAt))
        return object.line
    }

    /// Time of day and payload.
    var terminalLine: [UInt8] {
        let time = WallTimeText.utc(context.action.receivedAt).dropFirst(11)
        let text = json.map { String(decoding: $0, as: UTF8.self) } ?? payload.bytes.text.map(LineEscape.escaped)
        let shown = isBinary ? "(\(payload.bytes.count) bytes)" : text ?? ""
        return TerminalText.line([TerminalText.column(String(time), width: 13), "<", shown])
    }
}
