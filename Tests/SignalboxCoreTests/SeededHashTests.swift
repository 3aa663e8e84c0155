import SignalboxCore
import Testing

/// A byte that the hash left out would make two different messages one.
@Suite struct SeededHashTests {
    private static let hash = SeededHash()

    private func value(_ bytes: [UInt8]) -> UInt64 {
        bytes.withUnsafeBytes { Self.hash.value(of: $0) }
    }

    @Test(arguments: 1...70) func everyByteChangesTheHash(_ count: Int) {
        let plain = [UInt8](repeating: 0x61, count: count)
        let changed = (0..<count).map { position in
            var bytes = plain
            bytes[position] = 0x62
            return value(bytes)
        }
        #expect(Set(changed + [value(plain)]).count == count + 1)
    }

    @Test func theCountChangesTheHash() {
        #expect(Set((0...70).map { value([UInt8](repeating: 0, count: $0)) }).count == 71)
    }

    @Test func theOrderOfTwoBytesChangesTheHash() {
        #expect(value([1, 2]) != value([2, 1]))
        #expect(value([1, 2, 3]) != value([1, 3, 2]))
    }
}
