import AdapterSupport
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import MQTTPush

@Suite(.timeLimit(.minutes(1)))
struct ThreadBridgeTests {
    private struct Fault: Error, Equatable { let number: Int }

    private static func bridge() throws -> ThreadBridge<Fault> { try ThreadBridge() }

    /// Waits for wake-ups until the condition holds.
    private static func wait(_ bridge: ThreadBridge<Fault>, until isMet: () -> Bool) {
        while !isMet() { bridge.wake.wait(for: nil) }
    }

    @Test func theEndOfTheThreadHasTheErrorOfItsWork() async throws {
        let faulty = try Self.bridge()
        try faulty.start { () throws(Fault) in throw Fault(number: 1) }
        guard case .returned(Fault(number: 1)?) = await faulty.ended() else {
            Issue.record("the error was lost")
            return
        }
        let faultless = try Self.bridge()
        try faultless.start {}
        guard case .returned(nil) = await faultless.ended() else {
            Issue.record("there was no error")
            return
        }
    }

    @Test func aStopAfterTheEndChangesNothing() async throws {
        let bridge = try Self.bridge()
        let isOver = Promise<Void>()
        try bridge.start { isOver.set(()) }
        await isOver.value()
        guard case .returned(nil) = await bridge.ended() else {
            Issue.record("the thread had returned")
            return
        }
        bridge.stop()
        bridge.stop()
        #expect(bridge.isStopping)
    }

    @Test func aStopWakesTheThread() async throws {
        let bridge = try Self.bridge()
        try bridge.start { Self.wait(bridge) { bridge.isStopping } }
        bridge.stop()
        guard case .returned(nil) = await bridge.ended() else {
            Issue.record("the thread was not in a blocking call")
            return
        }
    }

    @Test func aStopDetachesAThreadInABlockingCall() async throws {
        let bridge = try Self.bridge()
        let (isCalling, mayReturn) = (Promise<Void>(), try WakeSignal())
        let secondCall = Promise<Bool>()
        try bridge.start {
            _ = bridge.blocking {
                isCalling.set(())
                mayReturn.wait(for: nil)
            }
            secondCall.set(bridge.blocking {} != nil)
        }
        await isCalling.value()
        bridge.stop()
        // The thread is still in its call.
        guard case .detached = await bridge.ended() else {
            Issue.record("the stop waited for the call")
            return
        }
        mayReturn.wake()
        #expect(await secondCall.value() == false)
    }

    @Test func aDetachedThreadMayEndLater() async throws {
        let bridge = try Self.bridge()
        let (mayEnd, hasEnded) = (try WakeSignal(), Promise<Void>())
        try bridge.start {
            mayEnd.wait(for: nil)
            hasEnded.set(())
        }
        bridge.detach()
        guard case .detached = await bridge.ended() else {
            Issue.record("the thread had not returned")
            return
        }
        mayEnd.wake()
        await hasEnded.value()
    }

    @Test func requestsForRoomAreAnswered() async throws {
        let bridge = try Self.bridge()
        let intake = RecordingIntake(room: 0)
        try bridge.start {
            for _ in 0..<2 {
                bridge.room.want()
                Self.wait(bridge) { bridge.room.answer != .unknown }
            }
        }
        async let end = bridge.ended(serving: intake)
        _ = await intake.roomCalls.first(1)
        intake.makeRoom(1)
        guard case .returned(nil) = await end else {
            Issue.record("the thread ended by itself")
            return
        }
        #expect(intake.roomCalls.all.count == 2 && bridge.room.answer == .free)
        #expect(!bridge.isStopping)
    }

    @Test func aClosedIntakeStopsTheThread() async throws {
        let bridge = try Self.bridge()
        let intake = RecordingIntake()
        intake.close()
        try bridge.start {
            bridge.room.want()
            Self.wait(bridge) { bridge.isStopping }
        }
        guard case .returned(nil) = await bridge.ended(serving: intake) else {
            Issue.record("the thread was not in a blocking call")
            return
        }
        #expect(bridge.room.answer == .closed)
    }

    @Test func cancellationStopsAServedThread() async throws {
        let bridge = try Self.bridge()
        let isRunning = Promise<Void>()
        try bridge.start {
            isRunning.set(())
            Self.wait(bridge) { bridge.isStopping }
        }
        let task = Task { await bridge.served(by: RecordingIntake()) }
        await isRunning.value()
        task.cancel()
        guard case .returned(nil) = await task.value else {
            Issue.record("the thread was not in a blocking call")
            return
        }
    }

    @Test func cancellationDoesNotEndTheWaitForTheThread() async throws {
        let bridge = try Self.bridge()
        let mayEnd = try WakeSignal()
        try bridge.start { () throws(Fault) in
            mayEnd.wait(for: nil)
            throw Fault(number: bridge.isStopping ? 1 : 2)
        }
        let task = Task { await bridge.ended() }
        task.cancel()
        mayEnd.wake()
        guard case .returned(Fault(number: 2)?) = await task.value else {
            Issue.record("the cancellation stopped the thread")
            return
        }
    }

    @Test(arguments: [(-1, 0), (0, 0), (1, 1), (2, 1), (.max, 1)])
    func anIntakesAnswerIsClampedToTheBatch(_ answer: Int, _ taken: Int) throws {
        let configuration = try MQTTPushConfiguration.test(port: 1_883, [try MQTTTopic("a/{action}")])
        let arrival = try #require(configuration.arrival(of: [], on: TopicName("a/b"), retained: false, qos: 1))
        let intake = CountingIntake(answer: answer)
        #expect(
            intake.take([arrival], to: GateSink(capacity: 1, ackDeadline: .seconds(1), wake: try WakeSignal())) == taken
        )
    }

    /// An intake that answers with any number.
    private struct CountingIntake: Intake {
        let answer: Int

        func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int { answer }
        func room() async throws(SourceClosed) {}
    }
}
