import CMosquitto

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension PushProperties {
    /// Copies what is kept of a property list of libmosquitto.
    init(copying list: OpaquePointer) {
        self.init()
        PushProperties.each(of: list) { read($0, $1) }
        // Afterwards, so that they cannot crowd out what has a meaning in MQTT.
        PushProperties.each(of: list) { readUserProperty($0, $1) }
    }

    private static func each(of list: OpaquePointer, _ body: (OpaquePointer, Int32) -> Void) {
        var next: OpaquePointer? = list
        while let property = next {
            body(property, mosquitto_property_identifier(property))
            next = mosquitto_property_next(property)
        }
    }

    private mutating func read(_ property: OpaquePointer, _ identifier: Int32) {
        switch UInt32(bitPattern: identifier) {
        case MQTT_PROP_CONTENT_TYPE.rawValue: contentType = text(property, identifier)
        case MQTT_PROP_RESPONSE_TOPIC.rawValue: responseTopic = text(property, identifier)
        case MQTT_PROP_CORRELATION_DATA.rawValue: correlationData = bytes(property, identifier)
        case MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue:
            var seconds: UInt32 = 0
            if mosquitto_property_read_int32(property, identifier, &seconds, false) != nil { messageExpiry = seconds }
        default: break
        }
    }

    // The library gives copies made with malloc, which are ours to free; it checked that texts are UTF-8.
    private mutating func text(_ property: OpaquePointer, _ identifier: Int32) -> String? {
        var copy: UnsafeMutablePointer<CChar>?
        defer { free(copy) }
        guard mosquitto_property_read_string(property, identifier, &copy, false) != nil, let copy else { return nil }
        return admit(strlen(copy)) ? String(cString: copy) : nil
    }

    private mutating func bytes(_ property: OpaquePointer, _ identifier: Int32) -> [UInt8]? {
        var copy: UnsafeMutableRawPointer?
        var length: UInt16 = 0
        defer { free(copy) }
        guard mosquitto_property_read_binary(property, identifier, &copy, &length, false) != nil else { return nil }
        let count = copy == nil ? 0 : Int(length)
        return admit(count) ? Array(UnsafeRawBufferPointer(start: copy, count: count)) : nil
    }

    private mutating func readUserProperty(_ property: OpaquePointer, _ identifier: Int32) {
        guard UInt32(bitPattern: identifier) == MQTT_PROP_USER_PROPERTY.rawValue else { return }
        guard userProperties.count < PushProperties.userPropertyLimit else {
            truncated = true
            return
        }
        var name: UnsafeMutablePointer<CChar>?
        var value: UnsafeMutablePointer<CChar>?
        defer {
            free(name)
            free(value)
        }
        guard mosquitto_property_read_string_pair(property, identifier, &name, &value, false) != nil,
            admit((name.map { strlen($0) } ?? 0) + (value.map { strlen($0) } ?? 0))
        else { return }
        userProperties.append(
            UserProperty(name: name.map { String(cString: $0) } ?? "", value: value.map { String(cString: $0) } ?? "")
        )
    }
}
