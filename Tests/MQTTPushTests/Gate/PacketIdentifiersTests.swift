import Testing

@testable import MQTTPush

struct PacketIdentifiersTests {
    @Test
    func allIdentifiersAreTakenInOrder() {
        var identifiers = PacketIdentifiers()
        var isOrdered = true
        for expected in 1...UInt16.max where identifiers.take() != expected { isOrdered = false }
        #expect(isOrdered)
        #expect(identifiers.count == 65_535)
        let none = identifiers.take()
        #expect(none == nil)
        let isReleased = identifiers.release(40_000)
        #expect(isReleased)
        let last = [identifiers.take(), identifiers.take()]
        #expect(last == [40_000, nil])
    }

    @Test
    func aReleasedIdentifierIsNotUsedAgainAtOnce() {
        var identifiers = PacketIdentifiers()
        for expected in 1...4 as ClosedRange<UInt16> {
            let identifier = identifiers.take()
            #expect(identifier == expected)
            identifiers.release(expected)
        }
    }

    @Test
    func zeroAndUnusedIdentifiersAreNotReleased() {
        var identifiers = PacketIdentifiers()
        var released = [identifiers.release(0), identifiers.release(1)]
        _ = identifiers.take()
        released += [identifiers.release(1), identifiers.release(1)]
        #expect(released == [false, false, true, false])
        #expect(identifiers.count == 0)
        #expect(!identifiers.contains(0))
    }

    @Test(arguments: [1, 2, 3, 4])
    func identifiersEqualTheNextFreeOnesOfASimpleSet(seed: UInt64) {
        var generator = PacketGenerator(seed: seed)
        var identifiers = PacketIdentifiers()
        var used = Set<UInt16>()
        var cursor: UInt16 = 0
        // Mostly full, so that searches pass full words, full groups of words and the end.
        let room = generator.number(1...40)
        var isEqual = true
        for _ in 0..<(65_535 - room) {
            cursor += 1
            used.insert(cursor)
            isEqual = isEqual && identifiers.take() == cursor
        }
        for _ in 0..<1_000 {
            if generator.chance(50) {
                let released = UInt16(generator.number(0...65_535))
                isEqual = isEqual && identifiers.release(released) == (used.remove(released) != nil)
            } else {
                var next = cursor
                repeat { next &+= 1 } while (next == 0 || used.contains(next)) && next != cursor
                let isFull = used.count == 65_535
                if !isFull {
                    cursor = next
                    used.insert(next)
                }
                isEqual = isEqual && identifiers.take() == (isFull ? nil : next)
            }
            isEqual = isEqual && identifiers.count == used.count
        }
        #expect(isEqual)
    }
}
