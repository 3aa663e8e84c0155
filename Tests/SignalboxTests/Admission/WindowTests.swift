import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

@Suite struct WindowTests {
    @Test func submitTakesThePrefixThatFits() async throws {
        let supervisor = Supervisor.make()
        let intake = try supervisor.intake(for: "push", window: WindowLimits(arrivals: 3))
        let sink = RecordingSink()
        #expect(intake.submit(arrivals(Array(repeating: message("x"), count: 5)), to: sink) == 3)
        #expect(intake.submit(arrivals(firstToken: 3, [message("x")]), to: sink) == 0)
        try await supervisor.whileRunning { await sink.untilSettled(3) }
        #expect(sink.outcomes.keys.sorted() == [0, 1, 2])
    }

    @Test func anArrivalFitsAfterRoomReturns() async throws {
        let supervisor = Supervisor.make()
        let gate = Gate()
        try supervisor.register(
            Registration("wait", as: Empty.self, from: .source("push")) { _, _ in await gate.pass() }
        )
        let size = message("wait").utf8.count
        let intake = try supervisor.intake(for: "push", window: WindowLimits(bytes: size * 3 / 2))
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(arrivals([message("wait"), message("wait"), message("wait")]), to: sink) == 2)
            async let room: Void = intake.room()
            gate.open()
            try await room
            #expect(intake.submit(arrivals(firstToken: 2, [message("wait")]), to: sink) == 1)
            await sink.untilSettled(3)
        }
    }

    @Test func anEmptyWindowTakesOneOversizedArrival() async throws {
        let supervisor = Supervisor.make()
        let giant = message("x", body: "\"" + String(repeating: "a", count: 200) + "\"")
        let intake = try supervisor.intake(for: "push", window: WindowLimits(bytes: 100))
        let sink = RecordingSink()
        #expect(intake.submit(arrivals([giant, message("x")]), to: sink) == 1)
        try await supervisor.whileRunning { await sink.untilSettled(1) }
    }

    @Test func roomReturnsWhenAQuarterOfTheWindowIsFree() async throws {
        let supervisor = Supervisor.make()
        let gates = (0..<4).map { _ in Gate() }
        let settled = Atomic(0)
        try supervisor.register(
            Registration("wait", as: Int.self, from: .source("push")) { number, _ in
                await gates[number / 2].pass()
                settled.wrappingAdd(1, ordering: .sequentiallyConsistent)
            }
        )
        let intake = try supervisor.intake(for: "push", window: WindowLimits(arrivals: 8))
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(intake.submit(arrivals((0..<9).map { message("wait", body: "\($0)") }), to: sink) == 8)
            async let room: Void = intake.room()
            gates[0].open()
            try await room
            #expect(settled.load(ordering: .sequentiallyConsistent) >= 2)
            #expect(intake.submit(arrivals(firstToken: 8, [message("wait", body: "7")]), to: sink) == 1)
            for gate in gates { gate.open() }
            await sink.untilSettled(9)
        }
    }

    @Test func arrivalsSubmittedBeforeTheRunAreHandledInOrder() async throws {
        let supervisor = Supervisor.make()
        let seen = Mutex<[Int]>([])
        try supervisor.register(
            Registration("early", as: Int.self, from: .source("push")) { number, _ in
                seen.withLock { $0.append(number) }
            }
        )
        let intake = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        for number in 0..<10 {
            let batch = arrivals(firstToken: UInt64(number), [message("early", body: "\(number)")])
            #expect(intake.submit(batch, to: sink) == 1)
        }
        #expect(sink.events.isEmpty)
        try await supervisor.whileRunning { await sink.untilSettled(10) }
        #expect(seen.withLock { $0 } == Array(0..<10))
    }

    @Test func aClosedIntakeTakesNothingAndRoomThrows() async throws {
        let supervisor = Supervisor.make()
        let intake = try supervisor.intake(for: "push", window: WindowLimits(arrivals: 1))
        try await supervisor.whileRunning {}
        #expect(intake.submit(arrivals([message("x")]), to: RecordingSink()) == 0)
        await #expect(throws: SourceClosed.self) { try await intake.room() }
        #expect(await intake.deliver(arrivals([message("x")])) == [.abandoned(.drain)])
    }
}
