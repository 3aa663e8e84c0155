import Testing

@testable import MQTTPush

/// The table says what MQTT 5.0, 2.2.2.2, says, and each property is checked by it.
struct PropertyTableTests {
    /// The 15 kinds of packets that have properties, as ``NaiveReader/table`` names them.
    static let packets: [String: PacketSet] = [
        "CONNECT": .connect, "WILL": .will, "CONNACK": .connack, "PUBLISH": .publish, "PUBACK": .puback,
        "PUBREC": .pubrec, "PUBREL": .pubrel, "PUBCOMP": .pubcomp, "SUBSCRIBE": .subscribe, "SUBACK": .suback,
        "UNSUBSCRIBE": .unsubscribe, "UNSUBACK": .unsuback, "DISCONNECT": .disconnect,
        "CLIENTDISCONNECT": .clientDisconnect, "AUTH": .auth,
    ]

    /// Reads a block in a buffer of exactly its size. Returns `nil` if it is accepted.
    private func violation(_ block: [UInt8], in packet: PacketSet) -> PacketViolation? {
        read(Wire.integer(block.count) + block, in: packet)
    }

    private func read(_ bytes: [UInt8], in packet: PacketSet) -> PacketViolation? {
        bytes.withUnsafeBytes { bytes in
            var cursor = PacketCursor(bytes, 0..<bytes.count)
            do throws(PacketViolation) {
                let block = try PropertyTable.check(&cursor, for: packet)
                #expect(cursor.remaining == 0 && block.range.upperBound == bytes.count)
                return nil
            } catch {
                return error
            }
        }
    }

    private func value(_ form: String, _ fill: UInt8) -> [UInt8] {
        switch form {
        case "byte", "flag": [fill]
        case "two": [0, fill]
        case "four": [0, 0, 0, fill]
        case "variable": [fill]
        case "text", "data": [0, 1, 0x60 + fill]
        default: [0, 1, 0x60 + fill, 0, 1, 0x61]
        }
    }

    @Test func thereAre27PropertiesAnd15KindsOfPackets() {
        #expect(PropertyTable.rules.count == 27 && NaiveReader.table.count == 27 && Self.packets.count == 15)
        #expect(PropertyTable.rules.map(\.id) == PropertyID.allCases)
        #expect(Self.packets.values.reduce(PacketSet()) { $0.union($1) } == .all)
    }

    /// 256 identifiers in 15 kinds of packets, once and twice.
    @Test func aPropertyIsAllowedInItsPacketsOnly() {
        for id in UInt8.min...UInt8.max {
            let row = NaiveReader.table[id]
            let property = [id] + value(row?.form ?? "four", 1)
            for (name, packet) in Self.packets {
                let needsMethod = id == 0x16
                let before: [UInt8] = needsMethod ? [0x15, 0, 0] : []
                let isAllowed = row?.packets.contains(name) == true
                #expect(
                    violation(before + property, in: packet)?.rule == (isAllowed ? nil : .property),
                    "\(id) \(name)"
                )
                guard isAllowed else { continue }
                let mayRepeat = id == 0x26 || id == 0x0B && name == "PUBLISH"
                let twice = violation(before + property + property, in: packet)
                #expect(twice?.rule == (mayRepeat ? nil : .repeatedProperty), "\(id) \(name)")
            }
        }
    }

    @Test func aTruncatedPropertyIsAViolation() throws {
        for (id, row) in NaiveReader.table {
            let packet = try #require(row.packets.first.flatMap { Self.packets[$0] })
            let property = [id] + value(row.form, 1)
            for count in 1..<property.count {
                #expect(violation(Array(property.prefix(count)), in: packet)?.rule == .truncated)
            }
            // The block says that it is longer than the packet.
            #expect(read(Wire.integer(property.count + 1) + property, in: packet)?.rule == .truncated)
        }
    }

    @Test func aNumberIsWithinItsBounds() throws {
        for (id, row) in NaiveReader.table where !["text", "data", "pair"].contains(row.form) {
            let packet = try #require(row.packets.first.flatMap { Self.packets[$0] })
            let isPositive = [0x0B, 0x21, 0x23, 0x27].contains(id)
            let invalid: PacketViolation.Rule = id == 0x23 ? .topicAlias : .propertyValue
            #expect(violation([id] + value(row.form, 0), in: packet)?.rule == (isPositive ? invalid : nil))
            let most: [UInt8] =
                switch row.form {
                case "byte", "flag": [255]
                case "two": [255, 255]
                case "four": [255, 255, 255, 255]
                default: [255, 255, 255, 127]
                }
            #expect(violation([id] + most, in: packet)?.rule == (row.form == "flag" ? .propertyValue : nil))
            #expect(row.form != "flag" || violation([id, 2], in: packet)?.rule == .propertyValue)
        }
        #expect(violation([0x0B, 0x80, 0x00], in: .publish)?.rule == .integerNotShortest)
        #expect(violation([0x0B, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], in: .publish)?.rule == .integerTooLong)
    }

    @Test func aTextIsUTF8AndDataIsNot() throws {
        for (id, row) in NaiveReader.table {
            let packet = try #require(row.packets.first.flatMap { Self.packets[$0] })
            let before: [UInt8] = id == 0x16 ? [0x15, 0, 0] : []
            for bytes in [[0xC3, 0x28], [0x00], [0xED, 0xA0, 0x80], [0x61, 0xFF]] as [[UInt8]] {
                switch row.form {
                case "text": #expect(violation([id] + Wire.data(bytes), in: packet)?.rule == .invalidText)
                case "data": #expect(violation(before + [id] + Wire.data(bytes), in: packet) == nil)
                case "pair":
                    let good = Wire.text("good")
                    #expect(violation([id] + good + Wire.data(bytes), in: packet)?.rule == .invalidText)
                    #expect(violation([id] + Wire.data(bytes) + good, in: packet)?.rule == .invalidText)
                default: break
                }
            }
        }
    }

    @Test func authenticationDataNeedsAMethod() {
        for packet: PacketSet in [.connect, .connack, .auth] {
            #expect(violation([0x16, 0, 0], in: packet)?.rule == .authentication)
            #expect(violation([0x16, 0, 0, 0x15, 0, 0], in: packet) == nil)
        }
    }

    @Test func eachGivesTheValuesInOrder() {
        let block: [UInt8] =
            [0x01, 7, 0x02, 0, 0, 1, 0, 0x03, 0, 2, 0x61, 0x62, 0x09, 0, 1, 0xFF, 0x0B, 0x80, 0x01]
            + [0x23, 1, 2, 0x26, 0, 1, 0x6E, 0, 0]
        let expected: [PropertyValue] = [
            .number(.payloadFormat, 7), .number(.messageExpiry, 256), .text(.contentType, 10..<12),
            .data(.correlationData, 15..<16), .number(.subscriptionID, 128), .number(.topicAlias, 258),
            .userProperty(name: 25..<26, value: 28..<28),
        ]
        #expect(values(block, 0..<block.count) == expected)
        // A range that was not checked is read as far as it has properties.
        #expect(values(block, 0..<block.count - 1) == expected.dropLast())
        #expect(values(block, 1..<block.count) == [])
        #expect(values(block, -5..<2) == [.number(.payloadFormat, 7)])
        #expect(values(block, 100..<200) == [])
    }

    private func values(_ bytes: [UInt8], _ range: Range<Int>) -> [PropertyValue] {
        var values: [PropertyValue] = []
        bytes.withUnsafeBytes { bytes in PropertyTable.each(range, of: bytes) { values.append($0) } }
        return values
    }
}

/// Texts are accepted exactly if the standard library accepts them and they have no U+0000.
struct PacketCursorTests {
    private func isText(_ text: [UInt8]) -> Bool {
        Wire.data(text).withUnsafeBytes { bytes in
            var cursor = PacketCursor(bytes, 0..<bytes.count)
            return (try? cursor.text()) != nil && cursor.remaining == 0
        }
    }

    private func expectSame(_ text: [UInt8]) {
        let expected = !text.contains(0) && String(validating: text, as: UTF8.self) != nil
        if isText(text) != expected { Issue.record("\(text)") }
    }

    /// Each of the bounds in Unicode's table 3-7, and the bytes beside it.
    private static let edges: [UInt8] = [
        0x00, 0x01, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
        0xEF,
        0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
    ]

    @Test func aTextOfEdgesIsJudgedAsByTheStandardLibrary() {
        for first in UInt8.min...UInt8.max {
            expectSame([first])
            for second in UInt8.min...UInt8.max { expectSame([first, second]) }
            guard Self.edges.contains(first) else { continue }
            for second in Self.edges {
                for third in Self.edges {
                    expectSame([first, second, third])
                    guard first >= 0xED else { continue }
                    for fourth in Self.edges { expectSame([first, second, third, fourth]) }
                }
            }
        }
    }

    /// Words of eight bytes have their own path.
    @Test func aByteIsFoundAtEachPositionOfALongText() {
        for count in 1...26 {
            #expect(isText([UInt8](repeating: 0x61, count: count)))
            for index in 0..<count {
                for byte: UInt8 in [0x00, 0x01, 0x7F, 0x80, 0xFF] {
                    var text = [UInt8](repeating: 0x61, count: count)
                    text[index] = byte
                    expectSame(text)
                }
                guard index + 3 < count else { continue }
                var text = [UInt8](repeating: 0x7F, count: count)
                text.replaceSubrange(index..<index + 3, with: [0xE2, 0x82, 0xAC])
                expectSame(text)
            }
        }
    }

    @Test func eachEncodingOfALengthIsReadBack() throws {
        for value in [0, 1, 127, 128, 129, 16_383, 16_384, 2_097_151, 2_097_152, 268_435_455] {
            let bytes = Wire.integer(value)
            try bytes.withUnsafeBytes { (buffer) throws in
                var cursor = PacketCursor(buffer, 0..<buffer.count)
                #expect(try cursor.variable() == value)
                for count in 0..<buffer.count {
                    var part = PacketCursor(buffer, 0..<count)
                    #expect(throws: PacketViolation(.truncated, at: count)) { try part.variable() }
                }
            }
        }
    }

    @Test func nothingIsReadOutsideTheRange() throws {
        let bytes: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
        for lower in 0...8 {
            for upper in lower...8 {
                try bytes.withUnsafeBytes { (bytes) throws in
                    let cursor = PacketCursor(bytes, lower..<upper)
                    let count = upper - lower
                    var copy = cursor
                    #expect((try? copy.byte()) == (count >= 1 ? bytes[lower] : nil))
                    copy = cursor
                    #expect(((try? copy.two()) != nil) == (count >= 2))
                    copy = cursor
                    #expect(((try? copy.four()) != nil) == (count >= 4))
                    copy = cursor
                    #expect(try copy.take(count) == lower..<upper)
                    copy = cursor
                    #expect(throws: PacketViolation(.truncated, at: lower)) { try copy.take(count + 1) }
                    #expect(throws: PacketViolation(.truncated, at: lower)) { try copy.take(-1) }
                    #expect(throws: PacketViolation(.truncated, at: lower)) { try copy.take(Int.max) }
                }
            }
        }
        bytes.withUnsafeBytes { bytes in
            #expect(PacketCursor(bytes, -3..<100).remaining == 8 && PacketCursor(bytes, 50..<60).remaining == 0)
        }
    }
}
