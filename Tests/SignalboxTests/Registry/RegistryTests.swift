import Foundation
import SignalboxCore
import SignalboxTesting
import Testing

@testable import Signalbox

@Suite struct RegistryTests {
    @Test func aDuplicateActionErrorNamesTheRegisteredPlugin() throws {
        let supervisor = Supervisor.make()
        try supervisor.register(Registration("loading", as: Loading.self, from: .source("push")) { _, _ in })
        let plugin = ClassicPlugin()
        #expect(throws: RegistrationError.duplicateAction("loading", holder: "a closure for Loading")) {
            try supervisor.register(Registration(plugin, from: .source("push")))
        }
    }

    @Test func aDuplicateSourceNameIsRefused() throws {
        let supervisor = Supervisor.make()
        _ = try supervisor.intake(for: "push")
        #expect(throws: RegistrationError.duplicateSource("push")) { try supervisor.intake(for: "push") }
    }

    @Test func aPluginCanBeReplacedAndRemovedWhileMessagesFlow() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(Registration("version", as: Empty.self, from: .source("push")) { _, _ in 1 })
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            #expect(await intake.deliver(arrivals([message("version")])) == [.handled(reply: Bytes("1"))])
            try supervisor.register(
                Registration("version", as: Empty.self, from: .source("push")) { _, _ in 2 },
                replacing: true
            )
            #expect(await intake.deliver(arrivals([message("version")])) == [.handled(reply: Bytes("2"))])
            try supervisor.remove("version")
            #expect(await intake.deliver(arrivals([message("version")])).map(reason) == ["unknownAction"])
        }
        #expect(throws: RegistrationError.noSuchAction("version")) { try supervisor.remove("version") }
        #expect(throws: RegistrationError.noSuchAction("version")) {
            try supervisor.register(
                Registration("version", as: Empty.self, from: .source("push")) { _, _ in },
                replacing: true
            )
        }
    }

    @Test func aHungCallOfARemovedPluginStillTimesOut() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.timeout = .milliseconds(200) }
        let gate = Gate()
        try supervisor.register(
            Registration("hangs", as: Empty.self, from: .source("push")) { _, _ in await gate.pass() }
        )
        let intake = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(arrivals([message("hangs")]), to: sink) == 1)
            await gate.untilArrived(1)
            try supervisor.remove("hangs")
            await clock.tick(3)
            #expect(sink.outcomes[0]?.map(reason) == ["timeout"])
        }
        gate.open()
    }

    @Test func eachOfTenThousandPluginsIsFound() async throws {
        let supervisor = Supervisor.make()
        for number in 0..<10_000 {
            try supervisor.register(
                Registration(try ActionName("action\(number)"), as: Empty.self, from: .source("push")) { _, _ in
                    number
                }
            )
        }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            for number in stride(from: 0, to: 10_000, by: 990) {
                let outcomes = await intake.deliver(arrivals([message("action\(number)")]))
                #expect(outcomes == [.handled(reply: Bytes("\(number)"))])
            }
            #expect(await intake.deliver(arrivals([message("action10000")])).map(reason) == ["unknownAction"])
        }
    }
}

@Suite struct PluginChangeTests {
    private static func registration(
        _ action: ActionName,
        options: PluginOptions<Empty> = PluginOptions(),
        reply: Int = 1
    ) -> Registration {
        Registration(action, as: Empty.self, from: .source("push"), options: options) { _, _ in reply }
    }

    @Test func allChangesTakeEffectAtOnce() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(Registration("old", as: Empty.self, from: .source("push")) { _, _ in 1 })
        try supervisor.register(Registration("kept", as: Empty.self, from: .source("push")) { _, _ in 1 })
        let intake = try supervisor.intake(for: "push")
        let messages = ["old", "kept", "new"].map { message($0) }
        try await supervisor.whileRunning {
            let before = await intake.deliver(arrivals(messages)).map(reason)
            try supervisor.apply([
                .remove("old"), .replace(Self.registration("kept", reply: 2)),
                .add(Self.registration("new", reply: 3)),
            ])
            #expect(before == ["handled", "handled", "unknownAction"])
            let after = await intake.deliver(arrivals(messages))
            #expect(after.map(reason) == ["unknownAction", "handled", "handled"])
            #expect(after[1] == .handled(reply: Bytes("2")))
        }
    }

    @Test func aFailedChangeRollsBackAllChanges() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(Self.registration("kept"))
        #expect(throws: RegistrationError.noSuchAction("absent")) {
            try supervisor.apply([.remove("kept"), .remove("absent")])
        }
        #expect(throws: RegistrationError.duplicateAction("kept", holder: "a closure for Empty")) {
            try supervisor.apply([.add(Self.registration("new")), .add(Self.registration("kept"))])
        }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let outcomes = await intake.deliver(arrivals([message("kept"), message("new")]))
            #expect(outcomes.map(reason) == ["handled", "unknownAction"])
        }
    }

    @Test func aChangeSeesEarlierChanges() throws {
        let supervisor = Supervisor.make()
        let work = PluginChange.add(Self.registration("work"))
        #expect(throws: RegistrationError.duplicateAction("work", holder: "a closure for Empty")) {
            try supervisor.apply([work, work])
        }
        try supervisor.apply([work, .remove("work"), work])
        try supervisor.remove("work")
        #expect(throws: RegistrationError.noSuchAction("work")) { try supervisor.apply([.remove("work"), work]) }
    }

    @Test func concurrentChangesAreAllPreserved() async throws {
        let supervisor = Supervisor.make()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<50 {
                        let names = try ["a", "b"].map { try ActionName("\($0)\(task)-\(number)") }
                        try supervisor.apply(names.map { .add(Self.registration($0)) })
                        try supervisor.apply([.remove(names[0])])
                    }
                }
            }
            try await group.waitForAll()
        }
        for task in 0..<8 {
            for number in 0..<50 {
                let name = try ActionName("a\(task)-\(number)")
                #expect(throws: RegistrationError.noSuchAction(name)) { try supervisor.remove(name) }
                try supervisor.remove(try ActionName("b\(task)-\(number)"))
            }
        }
    }

    /// A table that grew with each addition would hold 100,000 positions in the end.
    @Test func addingAndRemovingInTurnsKeepsTheTableSmall() throws {
        var table = PluginTable()
        for number in 0..<100_000 {
            let name = try ActionName("action\(number % 7)")
            let replaced = try table.apply([.add(Self.registration(name))], SupervisorConfiguration())
            let removed = try table.apply([.remove(name)], SupervisorConfiguration())
            #expect(replaced.isEmpty && removed.map(\.action) == [name])
        }
        #expect(table.capacity <= 16)
        #expect(table.entry(named: "action0") == nil)
    }

    /// A table that each change copied would have another memory after each of them.
    @Test func changesCopyTheTableOnlyWhileASnapshotIsInUse() throws {
        let registry = Registry(lanes: LaneTable())
        let names = try (0..<10_000).map { try ActionName("action-\($0)") }
        var (memory, copies) = (registry.snapshot.memory, 0)
        func count(_ change: PluginChange) throws {
            _ = try registry.apply([change], SupervisorConfiguration())
            let now = registry.snapshot.memory
            if now != memory { copies += 1 }
            memory = now
        }
        for name in names { try count(.add(Self.registration(name))) }
        // The table doubles its size.
        #expect(copies <= 16)
        copies = 0
        for name in names { try count(.replace(Self.registration(name))) }
        for name in names { try count(.remove(name)) }
        #expect(copies == 0)
        try count(.add(Self.registration("first")))
        let snapshot = registry.snapshot
        try count(.remove("first"))
        #expect(snapshot.entry(named: "first") != nil && registry.snapshot.entry(named: "first") == nil)
    }

    /// Removes and adds the same plugin in one step, a hundred times. No message finds it missing.
    @Test func removingAndAddingAPluginLosesNoMessage() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(Registration("work", as: Empty.self, from: .source("push")) { _, _ in })
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            async let outcomes = withTaskGroup(of: [Outcome].self) { group in
                group.addTask {
                    var outcomes: [Outcome] = []
                    for _ in 0..<1_000 { outcomes += await intake.deliver(arrivals([message("work")])) }
                    return outcomes
                }
                return await group.reduce(into: []) { $0 += $1 }
            }
            for _ in 0..<100 {
                try supervisor.apply([
                    .remove("work"),
                    .add(Registration("work", as: Empty.self, from: .source("push")) { _, _ in }),
                ])
                await Task.yield()
            }
            #expect(await outcomes == Array(repeating: .handled(reply: nil), count: 1_000))
        }
    }

    @Test func tenThousandChangesTakeLinearTime() throws {
        let supervisor = Supervisor.make()
        let names = try (0..<10_000).map { try ActionName("action\($0)") }
        try supervisor.apply(names.map { .add(Self.registration($0)) })
        try supervisor.apply(names.map { .replace(Self.registration($0)) })
        try supervisor.apply(names.map { .remove($0) })
        #expect(throws: RegistrationError.self) { try supervisor.remove(names[0]) }
    }

    @Test func middlewareAppliesToPluginsOfTheSameChange() async throws {
        struct Refusing: Middleware {
            func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome {
                .rejected(Outcome.Rejection(.overloaded, detail: "by middleware"))
            }
        }
        let supervisor = Supervisor.make()
        try supervisor.register(Self.registration("kept"))
        let refusing = PluginOptions<Empty>(middleware: [Refusing()])
        try supervisor.apply([
            .replace(Self.registration("kept", options: refusing)), .add(Self.registration("new", options: refusing)),
        ])
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let outcomes = await intake.deliver(arrivals([message("kept"), message("new")]))
            #expect(outcomes.map(reason) == ["overloaded", "overloaded"])
        }
    }
}
