import AdapterSupport
import MQTTPush
import SignalboxCore

/// A message whose parts a template shows. A WebSocket message has only a payload and a time.
struct TemplateMessage {
    let payload: RawBody
    var topic: String?
    var qos = 0
    var isRetained = false
    var contentType: String?
    var correlationData: [UInt8]?
    var responseTopic: String?
    var userProperties: [MQTTMessage.UserProperty] = []
    var payloadFormat: UInt8?
    var expiry: UInt32?
    let time: LocalTime

    init(_ payload: RawBody, receivedAt: WallTime) {
        self.payload = payload
        time = LocalTime(receivedAt)
    }

    /// - Parameter facts: The origin of a message with a topic, or `nil`.
    init(_ payload: RawBody, _ facts: PushFacts?, receivedAt: WallTime) {
        self.init(payload, receivedAt: receivedAt)
        guard let facts else { return }
        (topic, qos, isRetained) = (facts.topic, facts.qos, facts.retained)
        contentType = facts.properties?.contentType
        correlationData = facts.properties?.correlationData
        responseTopic = facts.properties?.responseTopic
        userProperties = facts.properties?.userProperties ?? []
        payloadFormat = facts.properties?.payloadFormat
        expiry = facts.properties?.messageExpiry
    }

    /// Returns the value of a field, or `nil` if the payload must be JSON and is not. A part that the message does not
    /// have is empty. A subscriber asks for no topic aliases and subscription identifiers, and the library does not pass
    /// on the message's id, so these are 0 or empty.
    func value(of field: MessageField) -> [UInt8]? {
        switch field {
        case .topicAlias, .subscriptionID: []
        case .messageID: [UInt8(ascii: "0")]
        case .contentType: text(contentType)
        case .correlationData: correlationData ?? []
        case .expiry: text(expiry.map { "\($0)" })
        case .payloadFormat: text(payloadFormat.map { "\($0)" })
        case .responseTopic: text(responseTopic)
        case .userProperties: text(userProperties.map { "\($0.name):\($0.value)" }.joined(separator: " "))
        case .time: time.text(Array("%Y-%m-%dT%H:%M:%S%z".utf8))
        case .unixTime: text("\(time.seconds).") + time.nanoseconds(digits: 9)
        case .length: text("\(payload.bytes.count)")
        case .payload: Array(payload.bytes)
        case .qos: text("\(qos)")
        case .retained: text(isRetained ? "1" : "0")
        case .topic: text(topic)
        case .lowerHexadecimal: text(payload.bytes.hexadecimal)
        case .upperHexadecimal: text(payload.bytes.hexadecimal.uppercased())
        case .json: object { $0.add("payload", content: payload.bytes) }
        case .jsonWithPayload:
            payload.kind == .json ? object { $0.add("payload", json: EscapedJSON.compact(payload.bytes)) } : nil
        }
    }

    private func text(_ text: String?) -> [UInt8] { text.map { Array($0.utf8) } ?? [] }

    private func object(_ addPayload: (inout JSONObject) -> Void) -> [UInt8] {
        var object = JSONObject()
        let fraction = String(decoding: time.nanoseconds(digits: 6), as: UTF8.self)
        let (date, zone) = (time.text(Array("%Y-%m-%dT%H:%M:%S".utf8)), time.text(Array("%z".utf8)))
        object.add("tst", String(decoding: date + text(".\(fraction)") + zone, as: UTF8.self))
        object.add("topic", topic)
        object.add("qos", qos)
        object.add("retain", isRetained ? 1 : 0)
        object.add("payloadlen", payload.bytes.count)
        let properties = properties
        if properties != Array("{}".utf8) { object.add("properties", json: properties) }
        addPayload(&object)
        return object.bytes
    }

    /// The MQTT 5 properties as a JSON object.
    private var properties: [UInt8] {
        var object = JSONObject()
        object.add("content-type", contentType)
        if let correlationData { object.add("correlation-data", content: Bytes(correlationData)) }
        object.add("response-topic", responseTopic)
        if !userProperties.isEmpty {
            object.add("user-properties") { object in
                // A JSON object must not repeat a name, so the values of a repeated name are a list.
                let names = userProperties.map(\.name)
                for (index, name) in names.enumerated() where names.firstIndex(of: name) == index {
                    let values = userProperties.filter { $0.name == name }.map(\.value)
                    if values.count == 1 { object.add(name, values[0]) } else { object.add(name, texts: values) }
                }
            }
        }
        if let payloadFormat { object.add("payload-format-indicator", Int(payloadFormat)) }
        if let expiry { object.add("message-expiry-interval", Int(expiry)) }
        return object.bytes
    }
}

/// A time in the zone of the process.
struct LocalTime {
    let seconds: Int64
    private let nanoseconds: Int
    private var parts = tm()

    init(_ time: WallTime) {
        (seconds, nanoseconds) = (time.seconds, Int(time.nanoseconds))
        var count = time_t(time.seconds)
        localtime_r(&count, &parts)
    }

    /// Formats the time. Text of more than 255 bytes is empty.
    func text(_ format: [UInt8]) -> [UInt8] {
        var parts = parts
        let format = format.map { CChar(bitPattern: $0) } + [0]
        return [UInt8](unsafeUninitializedCapacity: 256) { buffer, count in
            count = buffer.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { strftime($0, text.count, format, &parts) } ?? 0
            }
        }
    }

    /// Returns the part of the second, with leading zeros.
    func nanoseconds(digits: Int) -> [UInt8] {
        Array(String(1_000_000_000 + nanoseconds).utf8.dropFirst().prefix(digits))
    }
}
