import Testing

@testable import MQTTPush

@Suite struct PropertyReadingTests {
    private static func text(_ id: UInt8, _ value: [UInt8]) -> [UInt8] {
        [id, UInt8(value.count >> 8), UInt8(truncatingIfNeeded: value.count)] + value
    }

    private static func text(_ id: UInt8, _ value: String) -> [UInt8] { text(id, Array(value.utf8)) }

    private static func user(_ name: String, _ value: String) -> [UInt8] {
        text(0x26, name) + text(0, value).dropFirst()
    }

    /// Returns the properties read from these bytes, with other bytes around them.
    private static func read(_ properties: [UInt8]...) -> PushProperties {
        let bytes = [0x26, 0, 1] + properties.joined() + [0x26, 0, 0, 0, 0]
        return bytes.withUnsafeBytes { PushProperties(reading: 3..<$0.count - 5, of: $0) }
    }

    @Test func allPropertiesOfAPublisherAreRead() {
        let properties = Self.read(
            [0x01, 1],
            [0x02, 0x01, 0x02, 0x03, 0x04],
            Self.text(0x03, "text/plain"),
            Self.text(0x08, "a/b"),
            Self.text(0x09, [0, 0xFF]),
            [0x0B, 0x81, 0x01],
            [0x23, 0, 1],
            Self.user("naïve", ""),
            Self.user("", "v")
        )
        #expect(properties.payloadFormat == 1)
        #expect(properties.messageExpiry == 0x0102_0304)
        #expect(properties.contentType == "text/plain")
        #expect(properties.responseTopic == "a/b")
        #expect(properties.correlationData == [0, 0xFF])
        #expect(properties.userProperties.map(\.name) == ["naïve", ""])
        #expect(properties.userProperties.map(\.value) == ["", "v"])
        #expect(!properties.truncated)
        #expect(properties.textBytes == 10 + 3 + 2 + 6 + 1)
    }

    @Test func anEmptyRangeAndEmptyValuesAreRead() {
        #expect(Self.read().isEmpty)
        #expect(PushProperties(reading: 0..<0, of: UnsafeRawBufferPointer(start: nil, count: 0)).isEmpty)
        let texts = [0x03, 0x08, 0x09].flatMap { Self.text($0, "") }
        let empty = Self.read(texts, [0x01, 0], Self.user("", ""))
        #expect(empty.contentType == "" && empty.responseTopic == "" && empty.correlationData == [])
        #expect(empty.payloadFormat == 0 && empty.userProperties.count == 1 && empty.textBytes == 0)
    }

    @Test(arguments: 0...255) func aPayloadFormatOverOneIsLeftOut(_ format: Int) {
        let properties = Self.read([0x01, UInt8(format)], Self.text(0x03, "x"))
        #expect(properties.payloadFormat == (format > 1 ? nil : UInt8(format)))
        #expect(properties.contentType == "x" && !properties.truncated)
    }

    @Test(arguments: ["+", "#", "a/+/b", "a/#", "a+"]) func aResponseTopicWithWildcardsIsLeftOut(_ topic: String) {
        let properties = Self.read(Self.text(0x08, topic), Self.text(0x03, "x"))
        #expect(properties.responseTopic == nil && properties.contentType == "x")
        #expect(!properties.truncated && properties.textBytes == 1)
    }

    @Test func userPropertiesBeyondTheLimitAreDropped() {
        let all = Self.read((1...64).flatMap { Self.user("n", "\($0)") })
        #expect(all.userProperties.map(\.value) == (1...64).map(String.init) && !all.truncated)
        let more = Self.read((1...65).flatMap { _ in Self.user("", "") })
        #expect(more.userProperties.count == 64 && more.truncated)
    }

    @Test func textsBeyondTheLimitAreOmittedEntirely() {
        let half = String(repeating: "x", count: PushProperties.textLimit / 2)
        let all = Self.read(Self.user("", half), Self.user("", half))
        #expect(all.userProperties.count == 2 && !all.truncated)
        let more = Self.read(Self.user(half, half), Self.user("a", ""), Self.user("", ""))
        #expect(more.userProperties.map(\.name) == [half, ""] && more.truncated)
    }

    @Test func userPropertiesDoNotDisplaceOtherProperties() {
        let long = String(repeating: "x", count: PushProperties.textLimit)
        let received = Self.read(Self.user(long, ""), Self.text(0x03, "text/plain"))
        #expect(received.contentType == "text/plain" && received.userProperties.isEmpty && received.truncated)
    }

    @Test(arguments: [UInt8(0x03), 0x08, 0x09]) func aValueOverTheLimitIsOmitted(_ id: UInt8) {
        let long = [UInt8](repeating: 7, count: PushProperties.textLimit + 1)
        let received = Self.read(Self.text(id, long))
        #expect(received.truncated && received.textBytes == 0 && !received.isEmpty)
        #expect(received.contentType == nil && received.responseTopic == nil && received.correlationData == nil)
        let fitting = Self.read(Self.text(id, Array(long.dropFirst())))
        #expect(!fitting.truncated && fitting.textBytes == PushProperties.textLimit)
    }

    /// The checker refuses such bytes. Reading them must still end within the range.
    @Test func damagedBytesAreReadWithinTheRange() {
        let whole = Self.text(0x03, "text/plain") + Self.user("name", "value") + [0x02, 0, 0, 0, 9]
        for index in whole.indices {
            for byte: UInt8 in [0, 1, 0x26, 0x7F, 0x80, 0xFF] {
                var damaged = whole
                damaged[index] = byte
                for count in 0...damaged.count {
                    let properties = Self.read(Array(damaged.prefix(count)))
                    #expect(properties.textBytes <= count)
                }
            }
        }
        let bytes: [UInt8] = [0x01, 1]
        let outside = bytes.withUnsafeBytes { PushProperties(reading: -5..<9, of: $0) }
        #expect(outside.payloadFormat == 1)
    }
}
