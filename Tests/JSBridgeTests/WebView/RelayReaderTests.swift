import Testing

@testable import JSBridge

@Suite struct RelayReaderTests {
    private static let header = "0123456789abcdef https://app.example"

    private struct Reading {
        var token = ""
        var origin = ""
        var records: [RelayRecord] = []
        var fault: RelayTextError?
    }

    private func read(_ text: String) -> Reading {
        var reading = Reading()
        Array(text.utf8).withUnsafeBytes { bytes in
            var reader = RelayReader(bytes)
            do throws(RelayTextError) {
                (reading.token, reading.origin) = try reader.header()
                while let record = try reader.record() { reading.records.append(record) }
            } catch {
                reading.fault = error
            }
        }
        return reading
    }

    @Test func everyKindOfRecordIsRead() {
        let text = """
            \(Self.header)
            hello


            call 7 1.5e+3 12
            "page"
            {"a":"é\r"}
            call 9007199254740991 0 0


            answer 1 returned


            answer 2 threw

            "why"
            warn

            "a"
            error

            "b"
            full 3


            withheld 5 2


            """
        let reading = read(text)
        #expect(reading.fault == nil)
        #expect(reading.token == "0123456789abcdef" && reading.origin == "https://app.example")
        let bytes = Array(text.utf8)
        func content(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        let shown = reading.records.map { record -> String in
            switch record {
            case .hello: "hello"
            case .call(let number, let timeout, let units, let handler, let json):
                "call \(number) \(timeout) \(units) \(content(handler)) \(content(json))"
            case .answer(let number, let kind, let text): "answer \(number) \(kind) \(content(text))"
            case .warn(let text): "warn \(content(text))"
            case .error(let text): "error \(content(text))"
            case .full(let count): "full \(count)"
            case .withheld(let lines, let errors): "withheld \(lines) \(errors)"
            }
        }
        #expect(
            shown == [
                "hello", "call 7 1500.0 12 \"page\" {\"a\":\"é\r\"}", "call 9007199254740991 0.0 0  ",
                "answer 1 returned ", "answer 2 threw \"why\"", "warn \"a\"", "error \"b\"", "full 3", "withheld 5 2",
            ]
        )
    }

    @Test func aHeaderAloneHasNoRecords() {
        #expect(read(Self.header).records.isEmpty && read(Self.header).fault == nil)
    }

    @Test(arguments: [
        "", "\n", " ", "0123456789abcdef", "0123456789abcdef ", "0123456789abcdef  https://a",
        "0123456789ABCDEF https://a",
        "0123456789abcde https://a", "0123456789abcdef0 https://a", "0123456789abcdeg https://a",
        " 0123456789abcdef https://a", "0123456789abcdef https://a b", "0123456789abcdef https://ä",
        "0123456789abcdef\thttps://a", "0123456789abcdef https://a\0",
        "0123456789abcdef \(String(repeating: "a", count: 600))",
    ])
    func aTextWithoutTokenAndOriginIsRefused(_ text: String) {
        let reading = read(text)
        #expect(reading.fault?.line == 1 || text == "0123456789abcdef ", "\(text)")
        #expect(reading.records.isEmpty)
    }

    @Test(arguments: [
        ("", 2), ("\n", 3), ("hello", 2), ("hello\n", 3), ("call 1 0 0\n\"page\"", 3), ("nothing\n\n", 2),
        ("hello 1\n\n", 2),
        ("hello\nx\n", 2), ("hello\n\nx", 2), ("Hello\n\n", 2), ("hello \n\n", 2), ("call\n\n", 2), ("call 1\n\n", 2),
        ("call 1 0\n\n", 2), ("call 1 0 0 0\n\n", 2), ("call  1 0 0\n\n", 2), ("call -1 0 0\n\n", 2),
        ("call +1 0 0\n\n", 2),
        ("call 1.0 0 0\n\n", 2), ("call 12345678901234567 0 0\n\n", 2), ("call x 0 0\n\n", 2), ("call 1 x 0\n\n", 2),
        ("call 1 -1 0\n\n", 2), ("call 1 nan 0\n\n", 2), ("call 1 inf 0\n\n", 2), ("call 1 1e999 0\n\n", 2),
        ("call 1 0x10 0\n\n", 2), ("call 1 .5 0\n\n", 2), ("call 1 1e 0\n\n", 2), ("call 1 0 x\n\n", 2),
        ("call 1 0 -1\n\n", 2), ("answer 1\n\n", 2), ("answer 1 laughed\n\n", 2), ("answer x threw\n\n", 2),
        ("answer 1 threw\nx\n", 2), ("answer 1 threw 1\n\n", 2), ("warn\nx\n", 2), ("warn 1\n\n", 2), ("error\nx\n", 2),
        ("full\n\n", 2), ("full x\n\n", 2), ("full 1 2\n\n", 2), ("full 1\nx\n", 2), ("full 1\n\nx", 2),
        ("withheld 1\n\n", 2),
        ("withheld 1 x\n\n", 2), ("call 1 0 0\u{a0}\n\n", 2), ("hello\0\n\n", 2), ("hello\r\n\n", 2),
        ("full \(String(repeating: "1", count: 200))\n\n", 2),
    ])
    func whatIsNoRecordIsRefusedWithItsLine(_ record: String, line: Int) {
        let reading = read(Self.header + "\n" + record)
        #expect(reading.fault?.line == line, "\(record): \(String(describing: reading.fault))")
        let good = Self.header + "\nfull 1\n\n\n"
        #expect(read(good + record).records == [.full(1)])
        #expect(read(good + record).fault?.line == line + 3)
    }

    @Test(arguments: 0..<200) func noTextStopsTheReader(seed: UInt64) {
        var random = SeededNumbers(seed: seed)
        let pieces = [
            "\n", " ", "call", "answer", "1", "hello", "\"", "0123456789abcdef", "https://a", "é", "\0", "full", "e",
            "-",
        ]
        var text = Bool.random(using: &random) ? Self.header + "\n" : ""
        for _ in 0..<Int.random(in: 0..<60, using: &random) { text += pieces.randomElement(using: &random) ?? "" }
        let reading = read(text)
        #expect(
            reading.fault != nil || reading.records.count * 3 + 1 == text.utf8.count { $0 == UInt8(ascii: "\n") } + 1
        )
    }

    @Test(arguments: ["", "a", "é", "€", "😀", "a😀é€\n", "\u{FFFF}\u{10000}"])
    func unitsAreCountedAsJavaScriptDoes(_ text: String) {
        #expect(Array(text.utf8).withUnsafeBytes { $0.utf16Length } == text.utf16.count)
    }
}
