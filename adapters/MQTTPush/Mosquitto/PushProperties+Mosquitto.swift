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
        var next: OpaquePointer? = list
        while let property = next {
            read(property)
            next = mosquitto_property_next(property)
        }
    }

    private mutating func read(_ property: OpaquePointer) {
        let identifier = mosquitto_property_identifier(property)
        switch UInt32(bitPattern: identifier) {
        case MQTT_PROP_CONTENT_TYPE.rawValue: contentType = PushProperties.text(property, identifier)
        case MQTT_PROP_RESPONSE_TOPIC.rawValue: responseTopic = PushProperties.text(property, identifier)
        case MQTT_PROP_CORRELATION_DATA.rawValue: correlationData = PushProperties.bytes(property, identifier)
        case MQTT_PROP_USER_PROPERTY.rawValue: readUserProperty(property, identifier)
        case MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue:
            var seconds: UInt32 = 0
            if mosquitto_property_read_int32(property, identifier, &seconds, false) != nil { messageExpiry = seconds }
        default: break
        }
    }

    // The library gives copies made with malloc, which are ours to free; it checked that texts are UTF-8.
    private static func text(_ property: OpaquePointer, _ identifier: Int32) -> String? {
        var copy: UnsafeMutablePointer<CChar>?
        defer { free(copy) }
        guard mosquitto_property_read_string(property, identifier, &copy, false) != nil, let copy else { return nil }
        return String(cString: copy)
    }

    private static func bytes(_ property: OpaquePointer, _ identifier: Int32) -> [UInt8]? {
        var copy: UnsafeMutableRawPointer?
        var length: UInt16 = 0
        defer { free(copy) }
        guard mosquitto_property_read_binary(property, identifier, &copy, &length, false) != nil else { return nil }
        return Array(UnsafeRawBufferPointer(start: copy, count: copy == nil ? 0 : Int(length)))
    }

    private mutating func readUserProperty(_ property: OpaquePointer, _ identifier: Int32) {
        var name: UnsafeMutablePointer<CChar>?
        var value: UnsafeMutablePointer<CChar>?
        defer {
            free(name)
            free(value)
        }
        guard mosquitto_property_read_string_pair(property, identifier, &name, &value, false) != nil else { return }
        userProperties.append(
            UserProperty(name: name.map { String(cString: $0) } ?? "", value: value.map { String(cString: $0) } ?? "")
        )
    }
}
