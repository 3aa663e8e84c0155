import CMosquitto
import SignalboxCore
import Testing

@testable import MQTTPush

@Suite struct PropertyLimitTests {
    private let user = Int32(MQTT_PROP_USER_PROPERTY.rawValue)
    private let contentType = Int32(MQTT_PROP_CONTENT_TYPE.rawValue)
    private let correlationData = Int32(MQTT_PROP_CORRELATION_DATA.rawValue)

    /// What is kept of a list that `fill` makes.
    private func kept(_ fill: (inout OpaquePointer?) -> Void) throws -> PushProperties {
        var list: OpaquePointer?
        defer { mosquitto_property_free_all(&list) }
        fill(&list)
        return PushProperties(copying: try #require(list))
    }

    private func addUser(_ list: inout OpaquePointer?, _ name: String, _ value: String) {
        mosquitto_property_add_string_pair(&list, user, name, value)
    }

    @Test func sixtyFourUserPropertiesAreKeptAndTheNextIsNot() throws {
        let all = try kept { list in for number in 1...64 { addUser(&list, "n", "\(number)") } }
        #expect(all.userProperties.map(\.value) == (1...64).map(String.init) && !all.truncated)
        let more = try kept { list in for _ in 1...65 { addUser(&list, "", "") } }
        #expect(more.userProperties.count == 64 && more.truncated)
    }

    @Test func textsAreKeptUpToTheLimitAndLeftOutWholeBeyondIt() throws {
        let half = String(repeating: "x", count: PushProperties.textLimit / 2)
        let all = try kept { list in for _ in 1...2 { addUser(&list, "", half) } }
        #expect(all.userProperties.count == 2 && !all.truncated)
        let more = try kept { list in
            addUser(&list, half, half)
            addUser(&list, "a", "")
            addUser(&list, "", "")
        }
        #expect(more.userProperties.map(\.name) == [half, ""] && more.truncated)
    }

    @Test func userPropertiesDoNotCrowdOutTheOthers() throws {
        let long = String(repeating: "x", count: PushProperties.textLimit)
        let said = try kept { list in
            addUser(&list, long, "")
            mosquitto_property_add_string(&list, contentType, "text/plain")
        }
        #expect(said.contentType == "text/plain" && said.userProperties.isEmpty && said.truncated)
    }

    @Test func correlationDataOverTheLimitIsLeftOut() throws {
        let said = try kept { list in
            let data = [UInt8](repeating: 7, count: PushProperties.textLimit + 1)
            mosquitto_property_add_binary(&list, correlationData, data, UInt16(data.count))
        }
        #expect(said.correlationData == nil && said.truncated && !said.isEmpty)
    }

    @Test func propertiesAndNewTopicsCountForABatchsBytes() throws {
        let receiver = PushReceiver(configuration: try .test(port: 1_883, [try MQTTTopic("a/{action}")]))
        let empty = receive(receiver, nil)
        let again = receive(receiver, nil)
        #expect(empty > 0 && again == empty)
        var list: OpaquePointer?
        defer { mosquitto_property_free_all(&list) }
        for _ in 1...1_000 { addUser(&list, "name", "value") }
        let said = receive(receiver, list) - again
        #expect(said >= 64 * (9 + MemoryLayout<PushProperties.UserProperty>.stride) && said < 16_384)
        #expect(receiver.takeBatch().count == 3 && receiver.byteCount == 0)
    }

    /// Receives an empty message on `a/x`; returns the batch's bytes after it.
    private func receive(_ receiver: PushReceiver, _ properties: OpaquePointer?) -> Int {
        var topic = Array("a/x".utf8CString)
        topic.withUnsafeMutableBufferPointer { topic in
            var message = mosquitto_message()
            message.topic = topic.baseAddress
            message.qos = 1
            receiver.received(&message, properties: properties)
        }
        return receiver.byteCount
    }
}
