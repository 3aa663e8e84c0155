import Testing

@testable import SignalboxCommand

@Suite struct ValueTextTests {
    @Test(arguments: [
        ("0s", Duration.zero), ("1ms", .milliseconds(1)), ("500ms", .milliseconds(500)), ("3s", .seconds(3)),
        ("5m", .seconds(300)), ("1h", .seconds(3_600)), ("7d", .seconds(604_800)),
    ])
    func aDurationHasAUnit(_ text: String, _ expected: Duration) throws {
        #expect(try DurationText.duration(in: text) == expected)
        #expect(DurationText.text(expected) == text)
    }

    @Test(arguments: [
        "", "3", "s", "-1s", "1.5s", "3 s", "3S", "03s", "1h30m", "99999999999s", "9223372036854775808ms",
    ])
    func otherTextIsNoDuration(_ text: String) {
        #expect(throws: ValueTextError.self) { try DurationText.duration(in: text) }
    }

    @Test(arguments: [("0", 0), ("65536", 65_536), ("64KiB", 65_536), ("16MiB", 16 << 20), ("1GiB", 1 << 30)])
    func aSizeIsInBytesOrPowersOf1024(_ text: String, _ expected: Int) throws {
        #expect(try SizeText.bytes(in: text) == expected)
    }

    @Test(arguments: [
        "", "KiB", "64KB", "64k", "64 KiB", "-1", "1e3", "010", "0x10", "9223372036854775807GiB", "1_000",
    ])
    func otherTextIsNoSize(_ text: String) {
        #expect(throws: ValueTextError.self) { try SizeText.bytes(in: text) }
    }

    @Test(arguments: [
        ("brokre", "broker"), ("Broker", "broker"), ("client-id", "client_id"), ("topic", "topics"), ("zzz", nil),
    ])
    func theNearestNameIsSuggested(_ name: String, _ expected: String?) {
        #expect(NameSuggestion.nearest(to: name, among: ["broker", "client_id", "topics"]) == expected)
    }
}
