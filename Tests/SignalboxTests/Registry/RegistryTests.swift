import Foundation
import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing

@Suite struct RegistryTests {
    @Test func aDuplicateActionErrorNamesTheRegisteredPlugin() throws {
        let supervisor = Supervisor.make()
        try supervisor.register("loading", as: Loading.self, from: .source("push")) { _, _ in }
        let plugin = ClassicPlugin()
        #expect(throws: RegistrationError.duplicateAction("loading", holder: "a closure for Loading")) {
            try supervisor.register(plugin, from: .source("push"))
        }
    }

    @Test func aDuplicateSourceNameIsRefused() throws {
        let supervisor = Supervisor.make()
        _ = try supervisor.intake(for: "push")
        #expect(throws: RegistrationError.duplicateSource("push")) { try supervisor.intake(for: "push") }
    }

    @Test func aPluginCanBeReplacedAndRemovedWhileMessagesFlow() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register("version", as: Empty.self, from: .source("push")) { _, _ in 1 }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            #expect(await intake.deliver(arrivals([message("version")])) == [.handled(reply: Bytes("1"))])
            try supervisor.register("version", as: Empty.self, from: .source("push"), replacing: true) { _, _ in 2 }
            #expect(await intake.deliver(arrivals([message("version")])) == [.handled(reply: Bytes("2"))])
            try supervisor.remove("version")
            #expect(await intake.deliver(arrivals([message("version")])).map(reason) == ["unknownAction"])
        }
        #expect(throws: RegistrationError.noSuchAction("version")) { try supervisor.remove("version") }
        #expect(throws: RegistrationError.noSuchAction("version")) {
            try supervisor.register("version", as: Empty.self, from: .source("push"), replacing: true) { _, _ in }
        }
    }

    @Test func aHungCallOfARemovedPluginStillTimesOut() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.timeout = .milliseconds(200) }
        let gate = Gate()
        try supervisor.register("hangs", as: Empty.self, from: .source("push")) { _, _ in await gate.pass() }
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
            try supervisor.register(try ActionName("action\(number)"), as: Empty.self, from: .source("push")) { _, _ in
                number
            }
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

@Suite struct ReconfigureTests {
    private struct Fault: Error {}

    @Test func allChangesTakeEffectAtOnce() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register("old", as: Empty.self, from: .source("push")) { _, _ in 1 }
        try supervisor.register("kept", as: Empty.self, from: .source("push")) { _, _ in 1 }
        let intake = try supervisor.intake(for: "push")
        let messages = ["old", "kept", "new"].map { message($0) }
        try await supervisor.whileRunning {
            let before = await intake.deliver(arrivals(messages)).map(reason)
            try supervisor.reconfigure {
                try supervisor.remove("old")
                try supervisor.register("kept", as: Empty.self, from: .source("push"), replacing: true) { _, _ in 2 }
                try supervisor.register("new", as: Empty.self, from: .source("push")) { _, _ in 3 }
            }
            #expect(before == ["handled", "handled", "unknownAction"])
            let after = await intake.deliver(arrivals(messages))
            #expect(after.map(reason) == ["unknownAction", "handled", "handled"])
            #expect(after[1] == .handled(reply: Bytes("2")))
        }
    }

    @Test func aFailedChangeRollsBackAllChanges() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register("kept", as: Empty.self, from: .source("push")) { _, _ in 1 }
        #expect(throws: RegistrationError.noSuchAction("absent")) {
            try supervisor.reconfigure {
                try supervisor.remove("kept")
                try supervisor.remove("absent")
            }
        }
        #expect(throws: Fault.self) {
            try supervisor.reconfigure {
                try supervisor.register("new", as: Empty.self, from: .source("push")) { _, _ in }
                throw Fault()
            }
        }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let outcomes = await intake.deliver(arrivals([message("kept"), message("new")]))
            #expect(outcomes.map(reason) == ["handled", "unknownAction"])
        }
    }

    @Test func aChangeSeesEarlierChanges() throws {
        let supervisor = Supervisor.make()
        try supervisor.reconfigure {
            try supervisor.register("work", as: Empty.self, from: .source("push")) { _, _ in }
            #expect(throws: RegistrationError.duplicateAction("work", holder: "a closure for Empty")) {
                try supervisor.register("work", as: Empty.self, from: .source("push")) { _, _ in }
            }
            try supervisor.remove("work")
            try supervisor.reconfigure {
                try supervisor.register("work", as: Empty.self, from: .source("push")) { _, _ in }
            }
        }
        try supervisor.remove("work")
    }

    @Test func aConcurrentChangeByAnotherThreadIsPreserved() throws {
        let supervisor = Supervisor.make()
        let other = Supervisor.make()
        try supervisor.reconfigure {
            try other.register("work", as: Empty.self, from: .source("push")) { _, _ in }
            try supervisor.register("work", as: Empty.self, from: .source("push")) { _, _ in }
        }
        try other.remove("work")
        #expect(throws: RegistrationError.duplicateAction("late", holder: "a closure for Empty")) {
            try supervisor.reconfigure {
                try supervisor.register("late", as: Empty.self, from: .source("push")) { _, _ in }
                try RegistrationElsewhere.register("late", in: supervisor)
            }
        }
        try supervisor.remove("late")
        try supervisor.remove("work")
    }

    /// Removes and adds the same plugin in one step, a hundred times. No message finds it missing.
    @Test func removingAndAddingAPluginLosesNoMessage() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register("work", as: Empty.self, from: .source("push")) { _, _ in }
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
                try supervisor.reconfigure {
                    try supervisor.remove("work")
                    try supervisor.register("work", as: Empty.self, from: .source("push")) { _, _ in }
                }
                await Task.yield()
            }
            #expect(await outcomes == Array(repeating: .handled(reply: nil), count: 1_000))
        }
    }

    @Test func tenThousandChangesTakeLinearTime() throws {
        let supervisor = Supervisor.make()
        let names = try (0..<10_000).map { try ActionName("action\($0)") }
        for isReplacing in [false, true] {
            try supervisor.reconfigure {
                for name in names {
                    try supervisor.register(name, as: Empty.self, from: .source("push"), replacing: isReplacing) {
                        _,
                        _ in
                    }
                }
            }
        }
        try supervisor.reconfigure { for name in names { try supervisor.remove(name) } }
        #expect(throws: RegistrationError.self) { try supervisor.remove(names[0]) }
    }

    /// The task inherits the collected changes of the `reconfigure` call that created it.
    @Test func aTaskThatOutlivesTheCallRegistersDirectly() async throws {
        let supervisor = Supervisor.make()
        let gate = Gate()
        var later: Task<Void, any Error>?
        try supervisor.reconfigure {
            later = Task {
                await gate.pass()
                try supervisor.register("late", as: Empty.self, from: .source("push")) { _, _ in }
                try supervisor.reconfigure {
                    try supervisor.register("later", as: Empty.self, from: .source("push")) { _, _ in }
                }
            }
        }
        gate.open()
        try await later?.value
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let outcomes = await intake.deliver(arrivals([message("late"), message("later")]))
            #expect(outcomes.map(reason) == ["handled", "handled"])
        }
    }

    @Test func middlewareAppliesToPluginsOfTheSameChange() async throws {
        struct Refusing: Middleware {
            func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome {
                .rejected(Outcome.Rejection(.overloaded, detail: "by middleware"))
            }
        }
        let supervisor = Supervisor.make()
        try supervisor.register("kept", as: Empty.self, from: .source("push")) { _, _ in }
        try supervisor.reconfigure {
            try supervisor.register("kept", as: Empty.self, from: .source("push"), replacing: true) { _, _ in }
            try supervisor.use(Refusing(), for: "kept")
            try supervisor.register("new", as: Empty.self, from: .source("push")) { _, _ in }
            try supervisor.use(Refusing(), for: "new")
        }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let outcomes = await intake.deliver(arrivals([message("kept"), message("new")]))
            #expect(outcomes.map(reason) == ["overloaded", "overloaded"])
        }
    }
}

/// Registers a plugin outside the collected changes of the current task.
private enum RegistrationElsewhere {
    static func register(_ action: ActionName, in supervisor: Supervisor) throws {
        let done = Watched<Result<Void, RegistrationError>?>(nil)
        let thread = Thread {
            let result = Result { () throws(RegistrationError) in
                try supervisor.register(action, as: Empty.self, from: .source("push")) { _, _ in }
            }
            done.change { $0 = result }
        }
        thread.start()
        while done.value == nil {}
        try done.value?.get()
    }
}
