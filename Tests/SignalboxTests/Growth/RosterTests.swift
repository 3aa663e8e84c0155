import SignalboxCore
import SignalboxTesting
import Synchronization
import TestSupport
import Testing

@testable import Signalbox

/// The lists of sources and lanes, whose cost per member must not grow with the number of members.
@Suite(.timeLimit(.minutes(10))) struct RosterTests {
    private final class Member: Sendable {}

    @Test func aRosterHasTheMembersThatWereAddedAndNotRemoved() {
        var random = SeededGenerator(printing: 1)
        var roster = Roster<Member>()
        var expected: [ObjectIdentifier: Member] = [:]
        for _ in 0..<10_000 {
            if let member = roster.all.randomElement(using: &random), Bool.random(using: &random) {
                roster.remove(member)
                roster.remove(member)
                expected[ObjectIdentifier(member)] = nil
                #expect(!roster.contains(member))
            } else {
                let member = Member()
                roster.add(member)
                expected[ObjectIdentifier(member)] = member
                #expect(roster.contains(member))
            }
        }
        #expect(roster.all.count == expected.count)
        #expect(Set(roster.all.map(ObjectIdentifier.init)) == Set(expected.keys))
    }

    @Test func equalChangesMakeEqualOrders() {
        let members = (0..<1_000).map { _ in Member() }
        var rosters = [Roster<Member>(), Roster<Member>()]
        for index in rosters.indices {
            for member in members { rosters[index].add(member) }
            for position in stride(from: 0, to: 1_000, by: 3) { rosters[index].remove(members[position]) }
        }
        let orders = rosters.map { $0.all.map(ObjectIdentifier.init) }
        #expect(orders[0] == orders[1] && orders[0].count == 666)
    }

    /// A list that each tick made or sorted again would have a memory for each tick.
    @Test func ticksMakeNoListOfTheSources() throws {
        let supervisor = Supervisor.make()
        for number in 0..<1_000 { _ = try supervisor.intake(for: try SourceName("source-\(number)")) }
        let lists = (0..<100).map { _ in supervisor.state.withLock { $0.everyIntake } }
        let memories = lists.map { $0.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } }
        #expect(Set(memories).count == 1)
        #expect(Set(lists[0].map(\.source)).count == 1_000)
    }

    @Test func aRegistrationVisitsOnlySourcesThatHoldMessages() throws {
        let supervisor = Supervisor.make()
        for number in 0..<100 { _ = try supervisor.intake(for: try SourceName("source-\(number)")) }
        _ = try supervisor.intake(for: "links", hold: HoldLimits())
        #expect(supervisor.state.withLock { $0.holding.all.map(\.source) } == ["links"])
    }

    @Test func removedSourcesAreInNoList() async throws {
        let supervisor = Supervisor.make()
        let names = try (0..<100).map { try SourceName("source-\($0)") }
        for name in names { _ = try supervisor.intake(for: name, hold: HoldLimits()) }
        try await supervisor.whileRunning {
            let removed = await supervisor.remove(sources: Set(names))
            #expect(removed.count == 100)
            let lists = supervisor.state.withLock { [$0.sources, $0.holding, $0.leaving, $0.running] }
            #expect(lists.map(\.all.count) == [0, 0, 0, 0])
        }
    }

    @Test func lanesOfRemovedPluginsAreForgotten() async throws {
        let supervisor = Supervisor.make()
        let names = try (0..<100).map { try ActionName("action-\($0)") }
        for name in names {
            try supervisor.register(Registration(name, as: Empty.self, from: .source("push")) { _, _ in })
        }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let outcomes = await intake.deliver(arrivals(names.map { message($0.text) }))
            #expect(outcomes.count == 100 && supervisor.lanes.all.count == 100)
            try supervisor.apply(names.map { .remove($0) })
            while !Task.isCancelled, !supervisor.lanes.all.isEmpty { await Task.yield() }
        }
    }
}
