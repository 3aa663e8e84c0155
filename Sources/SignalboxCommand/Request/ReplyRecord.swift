import MQTTPush
import SignalboxCore

/// A reply as `request` shows it.
struct ReplyRecord {
    let reply: MQTTReply

    /// Whether what was asked for was done, as far as the reply tells.
    var status: CommandStatus {
        reply.outcome.map { $0 == "handled" } ?? true ? .done : .notAsExpected
    }

    /// One JSON object with a newline.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        if let json {
            object.add("payload", json: json)
        } else {
            object.add("payload", content: Bytes(reply.payload))
        }
        object.add("outcome", reply.outcome)
        object.add("contentType", reply.contentType)
        return object.line
    }

    /// The outcome, where there is one, and the payload.
    var terminalLine: [UInt8] {
        let text =
            json.map { String(decoding: $0, as: UTF8.self) }
            ?? String(validating: reply.payload, as: UTF8.self).map(LineEscape.escaped)
            ?? "(\(reply.payload.count) bytes)"
        let outcome = reply.outcome.map { [TerminalText.column($0, width: 8)] } ?? []
        return TerminalText.line(outcome + [text])
    }

    /// A payload that is JSON, without needless white space.
    private var json: [UInt8]? {
        guard !reply.payload.isEmpty, (try? Body(json: Bytes(reply.payload))) != nil else { return nil }
        return JSONText.compact(reply.payload)
    }
}
