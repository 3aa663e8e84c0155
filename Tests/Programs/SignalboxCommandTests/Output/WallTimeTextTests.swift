import Foundation
import SignalboxCore
import Testing

@testable import SignalboxCommand

@Suite struct WallTimeTextTests {
    @Test func knownMomentsAreWrittenInUTC() {
        #expect(WallTimeText.utc(WallTime(seconds: 0)) == "1970-01-01T00:00:00.000Z")
        #expect(WallTimeText.utc(WallTime(seconds: 951_782_400, nanoseconds: 7_999_999)) == "2000-02-29T00:00:00.007Z")
        #expect(WallTimeText.utc(WallTime(seconds: -1)) == "1969-12-31T23:59:59.000Z")
        #expect(WallTimeText.utc(WallTime(seconds: 4_107_542_399)) == "2100-02-28T23:59:59.000Z")
    }

    @Test func manyDaysAgreeWithFoundation() {
        let formatter = ISO8601DateFormatter()
        for day in stride(from: -100_000, through: 100_000, by: 97) {
            let seconds = day * 86_400 + 12_345
            let expected = formatter.string(from: Date(timeIntervalSince1970: Double(seconds)))
            let found = WallTimeText.utc(WallTime(seconds: Int64(seconds)))
            #expect(found == expected.replacing("Z", with: ".000Z"))
        }
    }
}
