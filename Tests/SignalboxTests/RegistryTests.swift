import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing

@Suite struct RegistryTests {
    @Test func aSecondPluginForAnActionIsRefusedAndToldWhoHoldsIt() throws {
        let supervisor = Supervisor.make()
        try supervisor.register("loading", as: Loading.self, from: .source("push")) { _, _ in }
        let plugin = ClassicPlugin()
        #expect(throws: RegistrationError.duplicateAction("loading", holder: "a closure for Loading")) {
            try supervisor.register(plugin, from: .source("push"))
        }
    }

    @Test func aSecondSourceOfTheSameNameIsRefused() throws {
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
