import Testing

@testable import MQTTPush

@Suite struct AcknowledgementRingTests {
    private struct Taken: Equatable {
        let packet: UInt16
        let token: UInt64
    }

    private let start = MonotonicTime(nanoseconds: 7)

    /// Makes a ring with one message of ten bytes per packet identifier.
    private func make(
        _ packets: [UInt16],
        capacity: Int = 8,
        head: UInt64 = 0
    ) throws -> (AcknowledgementRing, [UInt64]) {
        var ring = AcknowledgementRing(capacity: capacity, head: head)
        let tokens = try packets.map { packet in
            let token = ring.add(packet: packet, bytes: 10, at: start)
            return try #require(token)
        }
        return (ring, tokens)
    }

    private func take(_ ring: inout AcknowledgementRing, _ most: Int = .max) -> [Taken] {
        var taken: [Taken] = []
        let count = ring.takePrefix(most) { packet, token in taken.append(Taken(packet: packet, token: token)) }
        #expect(count == taken.count)
        return taken
    }

    @Test func theReleasedPrefixIsTakenInTheOrderOfArrival() throws {
        var (ring, tokens) = try make([3, 1, 2])
        let effects = [1, 2, 0].map { ring.settle(tokens[$0], .released) }
        #expect(effects == [.settled, .settled, .prefixGrew])
        #expect(ring.hasPrefix && ring.unsettled == 0 && ring.count == 3 && ring.bytes == 30)
        let taken = take(&ring)
        #expect(taken == zip([3, 1, 2], tokens).map { Taken(packet: $0, token: $1) })
        #expect(!ring.hasPrefix && ring.count == 0 && ring.bytes == 0 && ring.head == tokens[2] + 1)
    }

    @Test func anUnsettledMessageHoldsOnlyTheMessagesBehindIt() throws {
        var (ring, tokens) = try make([1, 2, 3])
        let effects = [ring.settle(tokens[0], .released), ring.settle(tokens[2], .released)]
        #expect(effects == [.prefixGrew, .settled])
        #expect(take(&ring).map(\.packet) == [1])
        #expect(ring.settle(tokens[1], .released) == .prefixGrew)
        #expect(take(&ring).map(\.packet) == [2, 3])
    }

    @Test func aPrefixThatIsNotTakenYetGoesOnGrowing() throws {
        var (ring, tokens) = try make([1, 2, 3, 4])
        #expect(tokens.map { ring.settle($0, .released) } == [.prefixGrew, .prefixGrew, .prefixGrew, .prefixGrew])
        #expect(take(&ring, 0).isEmpty && take(&ring, -1).isEmpty)
        #expect(take(&ring, 1).map(\.packet) == [1])
        #expect(ring.hasPrefix && take(&ring, 2).map(\.packet) == [2, 3])
        #expect(take(&ring, 2).map(\.packet) == [4])
    }

    @Test func onlyTheFirstSettlementOfATokenCounts() throws {
        var (ring, tokens) = try make([1, 2])
        #expect(ring.addedAt(tokens[1]) == start)
        #expect(ring.settle(tokens[1], .released) == .settled)
        #expect(ring.addedAt(tokens[1]) == nil)
        #expect(ring.settle(tokens[1], .abandoned) == .ignored)
        #expect(ring.settle(tokens[1], .released) == .ignored)
        #expect(ring.unsettled == 1 && ring.abandoned == 0)
        #expect(ring.settle(tokens[0], .released) == .prefixGrew)
        _ = take(&ring)
        #expect(ring.settle(tokens[0], .abandoned) == .ignored && ring.abandoned == 0)
    }

    @Test func unknownTokensAreIgnored() throws {
        var (ring, tokens) = try make([1, 2], head: 5 << 44 | 100)
        let next = tokens[1] + 1
        let (generation, step): (UInt64, UInt64) = (5 << 44, 1 << 44)
        let sameGeneration: [UInt64] = [generation, generation + 99, next, next + 8]
        let others: [UInt64] = [0, 100, tokens[0] - step, tokens[0] + step, 1 << 63, .max]
        for token in sameGeneration + others {
            #expect(ring.addedAt(token) == nil && ring.settle(token, .released) == .ignored)
        }
        #expect(ring.unsettled == 2 && !ring.hasPrefix)
    }

    @Test func nothingAtOrBehindAnAbandonedMessageIsTaken() throws {
        var (ring, tokens) = try make([1, 2, 3])
        #expect(ring.settle(tokens[1], .abandoned) == .abandoned)
        #expect(ring.settle(tokens[2], .released) == .settled)
        #expect(ring.settle(tokens[0], .released) == .prefixGrew)
        #expect(take(&ring).map(\.packet) == [1])
        #expect(!ring.hasPrefix && ring.unsettled == 0 && ring.count == 2 && ring.abandoned == 1)
        #expect(ring.contains(packet: 2) && ring.contains(packet: 3) && !ring.contains(packet: 1))
    }

    @Test func anAbandonedMessageAtQoS0FreesItsPlace() throws {
        var (ring, tokens) = try make([0, 7])
        #expect(ring.settle(tokens[0], .abandoned) == .settled)
        #expect(ring.abandoned == 0 && ring.lost == 1)
        #expect(ring.settle(tokens[1], .released) == .prefixGrew)
        #expect(take(&ring).map(\.packet) == [0, 7])
    }

    @Test func aMessageAtQoS0HasNoAcknowledgement() throws {
        var (ring, tokens) = try make([0, 0, 5, 0])
        #expect(ring.settle(tokens[2], .released) == .settled)
        #expect(ring.settle(tokens[0], .released) == .settled)
        #expect(ring.hasPrefix)
        // The acknowledgement of the third message can now leave.
        #expect(ring.settle(tokens[1], .released) == .prefixGrew)
        #expect(ring.settle(tokens[3], .released) == .settled)
        #expect(take(&ring).map(\.packet) == [0, 0, 5, 0])
    }

    @Test func anEventThatIsRepeatedBlocksWhenItIsAbandoned() throws {
        var ring = AcknowledgementRing(capacity: 2)
        let added = ring.add(packet: 0, bytes: 0, at: start, isRedelivered: true)
        let event = try #require(added)
        #expect(ring.settle(event, .abandoned) == .abandoned && ring.abandoned == 1 && ring.lost == 0)
        #expect(!ring.hasPrefix)
    }

    @Test func aFullRingTakesNothingMore() throws {
        var (ring, tokens) = try make([1, 2, 3], capacity: 3)
        #expect(ring.isFull && ring.add(packet: 4, bytes: 1, at: start) == nil)
        #expect(!ring.contains(packet: 4) && ring.count == 3 && ring.unsettled == 3 && ring.bytes == 30)
        // A released message holds its place until it is taken.
        #expect(ring.settle(tokens[0], .released) == .prefixGrew)
        #expect(ring.isFull)
        _ = take(&ring)
        #expect(ring.add(packet: 1, bytes: 1, at: start) == tokens[2] + 1 && ring.isFull)
    }

    @Test func theCapacityIsThatOfAReceiveMaximum() {
        let capacities = [Int.min, -1, 0, 1, 2, 250, 65_535, 65_536, .max]
        let clamped = [1, 1, 1, 1, 2, 250, 65_535, 65_535, 65_535]
        #expect(capacities.map { AcknowledgementRing(capacity: $0).capacity } == clamped)
    }

    @Test func placesAreUsedAgain() throws {
        for capacity in 1...9 {
            var (ring, tokens) = try make((1...capacity).map { UInt16($0) }, capacity: capacity)
            for round in 0..<100 {
                let old = tokens[round]
                #expect(ring.settle(old, .released) == .prefixGrew)
                #expect(take(&ring).map(\.token) == [old])
                let added = ring.add(packet: UInt16(capacity + 1 + round), bytes: 10, at: start)
                tokens.append(try #require(added))
                // The new message has the old one's place.
                #expect(ring.settle(old, .released) == .ignored && ring.unsettled == capacity)
            }
            #expect(Set(tokens).count == tokens.count && ring.bytes == 10 * capacity)
        }
    }

    @Test func numbersOfMessagesStartAgainBelowTheGeneration() throws {
        let last: UInt64 = 3 << 44 | (1 << 44 - 1)
        var (ring, tokens) = try make([1, 2, 3], head: last)
        #expect(tokens == [last, 3 << 44, 3 << 44 | 1])
        #expect(tokens.reversed().map { ring.settle($0, .released) } == [.settled, .settled, .prefixGrew])
        #expect(take(&ring).map(\.token) == tokens)
    }

    @Test func aResetForgetsEverythingButTheGeneration() throws {
        var (ring, tokens) = try make([1, 2, 0, 65_535])
        #expect(ring.settle(tokens[0], .released) == .prefixGrew)
        #expect(ring.settle(tokens[1], .abandoned) == .abandoned)
        #expect(ring.settle(tokens[2], .abandoned) == .settled)
        ring.reset()
        #expect(ring.count == 0 && ring.unsettled == 0 && ring.bytes == 0 && !ring.hasPrefix && !ring.isFull)
        #expect(ring.abandoned == 0 && ring.lost == 0 && ring.head == 1 << 44)
        #expect(![1, 2, 65_535].contains { ring.contains(packet: $0) })
        let token = ring.add(packet: 9, bytes: 1, at: start)
        #expect(token == 1 << 44 && ring.settle(tokens[0], .released) == .ignored)
        #expect(tokens.allSatisfy { ring.settle($0, .released) == .ignored } && ring.unsettled == 1)
    }

    @Test func theLastGenerationIsFollowedByTheFirst() throws {
        var (ring, tokens) = try make([1], head: .max)
        ring.reset()
        #expect(ring.head == 0 && ring.add(packet: 1, bytes: 1, at: start) == 0)
        #expect(ring.settle(tokens[0], .released) == .ignored)
    }

    @Test func droppedMessagesAreNeitherAcknowledgedNorCounted() throws {
        var (ring, tokens) = try make([1, 2, 0, 4])
        ring.drop(tokens[2]..<tokens[3] + 1)
        #expect(ring.unsettled == 2 && ring.abandoned == 0 && ring.lost == 0 && ring.count == 4)
        #expect(ring.settle(tokens[3], .released) == .ignored)
        #expect(ring.settle(tokens[0], .released) == .prefixGrew && ring.settle(tokens[1], .released) == .prefixGrew)
        #expect(take(&ring).map(\.packet) == [1, 2] && !ring.hasPrefix)
    }

    @Test func droppingKeepsSettledMessagesAndUnknownTokens() throws {
        var (ring, tokens) = try make([1, 2], head: 2 << 44)
        #expect(ring.settle(tokens[0], .released) == .prefixGrew)
        ring.drop(0..<tokens[0])
        ring.drop(tokens[1] + 1 ..< .max)
        ring.drop(tokens[1]..<tokens[1])
        #expect(ring.unsettled == 1)
        ring.drop(0 ..< .max)
        #expect(ring.unsettled == 0 && take(&ring).map(\.packet) == [1])
    }

    @Test func aSizeOutsideOfItsRangeIsClamped() {
        var ring = AcknowledgementRing(capacity: 2)
        _ = ring.add(packet: 1, bytes: -5, at: start)
        #expect(ring.bytes == 0)
        _ = ring.add(packet: 2, bytes: .max, at: start)
        #expect(ring.bytes == Int(UInt32.max))
    }
}

@Suite struct PacketIdentifierSetTests {
    @Test func everyIdentifierIsKeptApartFromTheOthers() {
        var set = PacketIdentifierSet()
        for packet in UInt16(1)...UInt16.max {
            #expect(!set.contains(packet))
            set.insert(packet)
        }
        for packet in stride(from: UInt16(1), through: UInt16.max, by: 2) { set.remove(packet) }
        #expect((UInt16(1)...UInt16.max).allSatisfy { set.contains($0) == $0.isMultiple(of: 2) })
        set.removeAll()
        #expect(!(UInt16(0)...UInt16.max).contains { set.contains($0) })
    }

    @Test func zeroIsNoIdentifier() {
        var set = PacketIdentifierSet()
        set.insert(0)
        #expect(!(UInt16(0)...UInt16.max).contains { set.contains($0) })
        set.insert(64)
        set.remove(0)
        #expect(set.contains(64))
    }
}
