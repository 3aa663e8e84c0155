import JSBridge
import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct OrderTests {
    @Test func twentyThousandMessagesOfBothFormsArriveInOrderThroughASmallWindow() async throws {
        let trial = try PageTrial(
            """
            for (let i = 0; i < 20000; i += 1) {
              if (i % 3) signalbox.call('number', i);
              else webkit.messageHandlers.number.postMessage(i);
            }
            """,
            configure: { $0.endsWhenIdle = true },
            window: WindowLimits(arrivals: 8)
        )
        let numbers = EventList<Int>()
        try trial.supervisor.register("number", as: Int.self, from: .script()) { number, _ in
            numbers.append(contentsOf: CollectionOfOne(number))
        }
        try await trial.untilEnd()
        #expect(numbers.all == Array(0..<20_000))
        #expect(trial.supervisor.report.total.handled == 20_000)
    }

    @Test func theScriptStandsStillWhileTheWindowIsFull() async throws {
        let trial = try PageTrial(
            "for (let i = 0; i < 50; i += 1) { signalbox.call('work'); console.log('sent ' + i); } report(1);",
            configure: { $0.batchMessages = 1 },
            window: WindowLimits(arrivals: 4)
        )
        let gate = Gate()
        try trial.supervisor.register("work", as: RawBody.self, from: .script()) { _, _ in await gate.pass() }
        try await trial.run {
            await trial.hears("sent 3")
            await gate.untilArrived(1)
            #expect(!trial.log.all.contains { $0.contains("sent 5 ") })
            gate.open()
            #expect(await trial.reports.first(1) == ["1"])
        }
        #expect(trial.supervisor.report.total.handled == 51)
    }
}
