import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import Signalbox

/// The queues of a lane with many keys. What an operation costs must not depend on the number of groups.
@Suite(.timeLimit(.minutes(10))) struct OrderingGroupsTests {
    /// 5 s of ticks of 100 ms.
    private static let deadline: UInt64 = 50

    private let settler: Settler
    private let sink = RecordingSink()
    private let batch = arrivals([message("work")])

    init() throws { settler = try OrderingGroupsTests.settler(features: .redelivers) }

    private static func settler(features: AdapterFeatures) throws -> Settler {
        let supervisor = Supervisor.make(clock: ManualClock()) { $0.ackDeadline = .seconds(5) }
        let intake = try supervisor.intake(for: "push", features: features)
        return try #require(intake as? SourceIntake).settler
    }

    private func slice(at tick: UInt64, of settler: Settler? = nil) -> BatchSlice {
        BatchSlice(arrivals: batch, range: 0..<1, sink: sink, tick: tick, settler: settler ?? self.settler)
    }

    @Test func theTimerLooksAtAGroupOnlyWhenOneOfItsActionsCanBeOverdue() {
        var groups = OrderingGroups()
        for number in 1...10_000 {
            groups.add(slice(at: UInt64(number)), to: groups.group(of: LaneKey(number)))
        }
        for now in 1...(10_000 + Self.deadline) as ClosedRange<UInt64> {
            let overdue = groups.takeOverdue(at: now)
            let expected = now > Self.deadline ? [now - Self.deadline] : []
            #expect(overdue.map(\.tick) == expected)
        }
        #expect(groups.isEmpty && groups.visited == 10_000)
    }

    @Test func theTimerLooksAtNoGroupOfASourceThatDoesNotRedeliver() throws {
        let other = try Self.settler(features: [])
        var groups = OrderingGroups()
        for number in 1...1_000 { groups.add(slice(at: 1, of: other), to: groups.group(of: LaneKey(number))) }
        for now in 1...1_000 as ClosedRange<UInt64> {
            let overdue = groups.takeOverdue(at: now)
            #expect(overdue.isEmpty)
        }
        #expect(groups.visited == 0 && !groups.isEmpty)
    }

    /// Groups that are freed and used again for other keys keep the number of looks small.
    @Test func shortLivedKeysCostOneLookPerGroupAndDeadline() {
        var groups = OrderingGroups()
        for now in 1...1_000 as ClosedRange<UInt64> {
            let numbers = (0..<100).map { groups.group(of: LaneKey(Int(now) * 100 + $0)) }
            for group in numbers { groups.add(slice(at: now), to: group) }
            let overdue = groups.takeOverdue(at: now)
            #expect(overdue.isEmpty)
            for group in numbers {
                let (slice, isFreed) = (groups.popFirst(of: group, most: 1), groups.free(group))
                #expect(slice != nil && isFreed)
            }
        }
        #expect(groups.all.count == 100 && groups.isEmpty)
        #expect(groups.visited <= 100 * 1_000 / Int(Self.deadline))
    }

    /// An older action may come behind or before a newer one, when a source's keys are decoded late or a retry returns.
    @Test func everyOverdueActionIsFoundAtItsTick() {
        var random = SeededGenerator(printing: 2)
        var groups = OrderingGroups()
        var waiting: [Int: [UInt64]] = [:]
        for now in 1...2_000 as ClosedRange<UInt64> {
            for _ in 0..<Int.random(in: 0..<8, using: &random) {
                let key = Int.random(in: 0..<20, using: &random)
                let tick = now - min(now - 1, UInt64.random(in: 0..<70, using: &random))
                let isFirst = Bool.random(using: &random)
                groups.add(slice(at: tick), to: groups.group(of: LaneKey(key)), isFirst: isFirst)
                waiting[key, default: []].insert(tick, at: isFirst ? 0 : waiting[key, default: []].count)
            }
            let key = Int.random(in: 0..<20, using: &random)
            let group = groups.group(of: LaneKey(key))
            if let taken = groups.popFirst(of: group, most: .max) {
                let expected = waiting[key]?.removeFirst()
                #expect(taken.tick == expected)
            }
            _ = groups.free(group)
            let expected = waiting.values.joined().filter { now - $0 >= Self.deadline }.sorted()
            let overdue = groups.takeOverdue(at: now).map(\.tick).sorted()
            #expect(overdue == expected)
            for key in waiting.keys { waiting[key]?.removeAll { now - $0 >= Self.deadline } }
            let isEmpty = waiting.values.allSatisfy { $0.isEmpty }
            #expect(groups.isEmpty == isEmpty)
        }
    }

    /// Two texts may be equal and have different bytes.
    @Test func equalKeysHaveOneGroup() {
        var groups = OrderingGroups()
        let texts = ["caf\u{e9}", "cafe\u{301}"].map { groups.group(of: LaneKey($0)) }
        let other = groups.group(of: LaneKey(UInt8(1)))
        let same = groups.group(of: LaneKey(UInt8(1)))
        #expect(texts[0] == texts[1] && other == same)
        // Equal to ASCII text in Unicode: the Kelvin sign, the Greek question mark and the varia.
        for (text, plain) in [("\u{212A}7", "K7"), ("\u{37E}", ";"), ("a\u{1FEF}", "a`")] {
            #expect(text == plain && groups.group(of: LaneKey(text)) == groups.group(of: LaneKey(plain)))
        }
        let different = [LaneKey("1"), LaneKey(1), LaneKey(""), LaneKey("cafe")].map { groups.group(of: $0) }
        #expect(Set(different + [texts[0], other]).count == 6)
    }

    /// A key that comes back after its group was freed may get any group.
    @Test func aFreedGroupIsFoundOnlyByItsNewKey() {
        var groups = OrderingGroups()
        let first = groups.group(of: LaneKey("first"))
        let isFreed = groups.free(first)
        let second = groups.group(of: LaneKey("second"))
        let back = groups.group(of: LaneKey("first"))
        #expect(isFreed && second == first && back != second)
    }

    @Test func takingSlicesKeepsCountOfTheGroupsThatWait() {
        var groups = OrderingGroups()
        for number in 0..<100 { groups.add(slice(at: UInt64(number)), to: groups.group(of: LaneKey(number % 10))) }
        let third = groups.takeAll(of: 3).map(\.tick)
        let expected: [UInt64] = [3, 13, 23, 33, 43, 53, 63, 73, 83, 93]
        #expect(third == expected)
        let (nothing, fourth) = (groups.takeAll(of: 3), groups.popFirstTogether(of: 4))
        #expect(nothing.isEmpty && fourth?.range.count == 10)
        let fifth = groups.takeAll { $0.tick % 10 == 5 }
        #expect(fifth.count == 10 && !groups.isEmpty)
        let rest = groups.takeAll()
        #expect(rest.count == 70 && groups.isEmpty)
    }
}

/// Elements that are due at certain ticks.
@Suite struct TickScheduleTests {
    @Test func eachElementIsDueOnce() {
        var random = SeededGenerator(printing: 3)
        var schedule = TickSchedule<Int>()
        var expected: [UInt64: [Int]] = [:]
        var now: UInt64 = 1_000
        for number in 0..<10_000 {
            let due = now + UInt64.random(in: 1...100, using: &random)
            schedule.add(number, at: due)
            expected[due, default: []].append(number)
            guard number % 10 == 9 else { continue }
            let before = now
            now += UInt64.random(in: 1...3, using: &random)
            let (taken, nothing) = (schedule.takeDue(at: now), schedule.takeDue(at: now))
            let those = (before + 1...now).flatMap { expected.removeValue(forKey: $0) ?? [] }
            #expect(taken == those && nothing.isEmpty)
        }
        let rest = schedule.takeAll { _ in true }
        #expect(rest == expected.keys.sorted().flatMap { expected[$0] ?? [] })
        #expect(schedule.isEmpty)
    }

    @Test func whatWasDueBeforeIsDueAtTheNextTick() {
        var schedule = TickSchedule<String>()
        let nothing = schedule.takeDue(at: 10)
        schedule.add("late", at: 3)
        schedule.add("next", at: 11)
        let due = schedule.takeDue(at: 11)
        #expect(nothing.isEmpty && due == ["late", "next"])
    }

    @Test func matchingElementsAreTaken() {
        var schedule = TickSchedule<Int>()
        for number in 0..<10 { schedule.add(number, at: UInt64(20 - number)) }
        let multiples = schedule.takeAll { $0.isMultiple(of: 3) }
        let others = schedule.takeDue(at: 100)
        #expect(multiples == [9, 6, 3, 0] && others == [8, 7, 5, 4, 2, 1])
    }
}
