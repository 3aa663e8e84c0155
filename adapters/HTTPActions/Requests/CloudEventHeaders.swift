import SignalboxCore

/// The attributes of a CloudEvent in binary mode, which are headers (HTTP Protocol Binding for CloudEvents 1.0, 3.1).
struct CloudEventHeaders {
    /// The attributes that are read. Others cannot be, as the library finds a header only by its name.
    static let attributes = [
        "specversion", "type", "source", "id", "subject", "time", "dataschema", "partitionkey", "traceparent",
        "tracestate",
    ]

    private let values: [(name: String, value: String)]

    /// Returns `nil` if the request is not an event in binary mode.
    init?(_ headers: [String: String]) {
        guard headers["ce-specversion"] != nil else { return nil }
        values = CloudEventHeaders.attributes.compactMap { name in
            headers["ce-\(name)"].map { (name, CloudEventHeaders.decoded($0)) }
        }
    }

    /// Returns the same event in structured mode (JSON Event Format, 3).
    ///
    /// - Parameters:
    ///   - body: The event's data.
    ///   - contentType: The header `Content-Type`.
    func structured(_ body: [UInt8], contentType: String?) -> [UInt8] {
        var event = JSONObject()
        for (name, value) in values { event.add(name, value) }
        event.add("datacontenttype", contentType)
        let type = contentType.map(MediaType.essence) ?? MediaType.json
        if body.isEmpty { return event.bytes }
        if MediaType.isJSON(type) {
            // Anything but one value could add attributes to the event. The event then is what cannot be read.
            guard (try? Body(json: Bytes(body))) != nil else { return body }
            event.add("data", json: body)
        } else if type.hasPrefix("text/"), let text = String(validating: body, as: UTF8.self) {
            event.add("data", text)
        } else {
            event.add("data_base64", Base64.encoded(Bytes(body)))
        }
        return event.bytes
    }

    /// Decodes a header's value, whose percent-encoded bytes are UTF-8 (3.1.3.2). A sequence that is neither stays as it is.
    private static func decoded(_ value: String) -> String {
        guard value.utf8.contains(UInt8(ascii: "%")) else { return value }
        let bytes = Array(value.utf8)
        var decoded: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
                let text = String(validating: bytes[(index + 1)...(index + 2)], as: UTF8.self),
                text.allSatisfy(\.isHexDigit), let byte = UInt8(text, radix: 16)
            {
                decoded.append(byte)
                index += 3
            } else {
                decoded.append(bytes[index])
                index += 1
            }
        }
        return String(validating: decoded, as: UTF8.self) ?? value
    }
}
