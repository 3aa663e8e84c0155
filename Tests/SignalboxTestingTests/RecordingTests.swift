import SignalboxCore
import SignalboxTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct RecordingTests {
    @Test func aSinkKeepsWhatItHeardInOrder() async {
        let sink = RecordingSink()
        async let second: Void = sink.untilSettled(2)
        async let first: Void = sink.untilSettled(1)
        sink.mayAcknowledge(7)
        sink.settle(7, .handled(reply: nil))
        sink.settle(8, .abandoned(.stop))
        _ = await (first, second)
        #expect(
            sink.events == [
                .mayAcknowledge(7), .settled(7, .handled(reply: nil)), .settled(8, .abandoned(.stop)),
            ]
        )
        #expect(sink.acknowledged == [7])
        #expect(sink.outcomes == [7: [.handled(reply: nil)], 8: [.abandoned(.stop)]])
    }

    @Test func aSenderRefusesWhatIsOverItsLimitAndAllOnceItIsClosed() async throws {
        let sender = RecordingSender(limit: 2)
        async let sent = sender.untilSent(2)
        try sender.send("one", 1)
        try sender.send("two", id: ActionID("a"), body: Bytes("2"))
        #expect(throws: SendRefused.full) { try sender.send("three", 3) }
        sender.close()
        #expect(throws: SendRefused.closed) { try sender.send("four", 4) }
        #expect(
            await sent == [
                SentAction(action: "one", body: Bytes("1")),
                SentAction(action: "two", id: ActionID("a"), body: Bytes("2")),
            ]
        )
    }

    @Test func aGateLetsThroughWhoCameFirst() async {
        let gate = Gate()
        let passed = Watched(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    await gate.pass()
                    passed.change { $0 += 1 }
                }
            }
            await gate.untilArrived(3)
            #expect(passed.value == 0)
            gate.letPass(2)
            await passed.until { $0 == 2 }
            gate.open()
        }
        #expect(passed.value == 3)
    }

    @Test func aCancelledWaitEnds() async {
        let value = Watched(0)
        let wait = Task { await value.until { $0 == 1 } }
        wait.cancel()
        #expect(await wait.value == false)
    }
}
