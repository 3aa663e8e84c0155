import SignalboxCore
import SignalboxTesting
import Testing

@testable import JSBridge

/// How much of a page is in the program at once, and what waits where.
@Suite(.timeLimit(.minutes(10))) struct WebViewFlowTests {
    private static let calls = """
        const calls = (count, value) => {
          for (let i = 0; i < count; i += 1) {
            signalbox.call('work', value ?? i).then(() => report('done ' + i), (error) => report(error.code + ' ' + i));
          }
        };
        """

    @Test func messagesWithoutCreditWaitInThePage() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake) { $0.messagesInFlight = 4 }
        try await trial.whileRunning(Self.calls + "calls(20);") {
            _ = await intake.taken.first(4)
            for settled in 1...20 {
                #expect(intake.taken.all.count <= settled + 3, "more than four have no outcome")
                await intake.taken.first(settled).last?.settle()
                _ = await trial.reports.first(settled)
            }
            #expect(trial.reports.all == (0..<20).map { "done \($0)" })
        }
    }

    @Test func bytesWithoutCreditWaitInThePage() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake) {
            $0.limits = MessageLimits(bytes: 1_000)
            $0.bytesInFlight = 1_000
        }
        try await trial.whileRunning(Self.calls + "calls(6, 'x'.repeat(400));") {
            for settled in 1...6 {
                let taken = await intake.taken.first(settled)
                #expect(intake.taken.all.count <= settled + 1, "more than two, of 428 units each, have no outcome")
                taken.last?.settle()
                _ = await trial.reports.first(settled)
            }
        }
    }

    @Test func aMessageAsLargeAsAllThereIsGetsItsTurn() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake) {
            $0.limits = MessageLimits(bytes: 1_000)
            $0.bytesInFlight = 1_000
        }
        let large = "signalbox.call('large', 'x'.repeat(970)).then(() => report('large'));"
        try await trial.whileRunning(Self.calls + "calls(3, 1);" + large + "calls(1, 2);") {
            for one in await intake.taken.first(3) { one.settle() }
            await intake.taken.first(4).last?.settle()
            await intake.taken.first(5).last?.settle()
            #expect(await trial.reports.first(5) == ["done 0", "done 1", "done 2", "large", "done 0"])
        }
    }

    @Test(arguments: [false, true]) func whatIsMoreThanMayWaitInThePageIsFull(isGranted: Bool) async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake) {
            $0.messagesInFlight = 1
            $0.messagesWaitingInPage = 2
        }
        try await trial.whileRunning {
            try await trial.evaluate(Self.calls)
            if isGranted { try await trial.untilGranted() }
            try await trial.evaluate("calls(5);")
            #expect(await trial.reports.first(2) == ["full 3", "full 4"])
            #expect(trial.counters.value.callsFullInPage == 2)
            for number in 1...3 { await intake.taken.first(number).last?.settle() }
            #expect(await trial.reports.first(5) == ["full 3", "full 4", "done 0", "done 1", "done 2"])
            try await trial.evaluate("calls(1);")
            await intake.taken.first(4).last?.settle()
            #expect(await trial.reports.first(6).last == "done 0", "there is room again")
        }
        #expect(trial.log.all.count { $0.contains("calls were rejected in the page") } == 1)
    }

    @Test func whatTheIntakeDoesNotTakeComesInOrderWhenThereIsRoom() async throws {
        let intake = RecordingIntake.holding(room: 2)
        let trial = try WebViewTrial(intake)
        try await trial.whileRunning(Self.calls + "calls(5);") {
            _ = await intake.taken.first(2)
            try await trial.evaluate("calls(3);")
            _ = await intake.roomCalls.first(1)
            #expect(intake.taken.all.count == 2)
            intake.makeRoom(4)
            _ = await intake.taken.first(6)
            _ = await intake.roomCalls.first(2)
            intake.makeRoom(100)
            let bodies = try await intake.taken.first(8).map { try $0.arrival.reading.get().body.decode(Int.self) }
            #expect(bodies == [0, 1, 2, 3, 4, 0, 1, 2])
            for one in intake.taken.all { one.settle() }
            #expect(await trial.reports.first(8).count == 8)
        }
        #expect(intake.roomCalls.all.count == 2)
    }

    @Test func anIntakeThatCloses() async throws {
        let intake = RecordingIntake.holding(room: 2)
        let trial = try WebViewTrial(intake)
        try await trial.untilEnd(Self.calls + "calls(5);") {
            _ = await intake.roomCalls.first(1)
            intake.close()
            #expect(await trial.reports.first(3) == ["drain 2", "drain 3", "drain 4"])
            for one in intake.taken.all { one.settle() }
            #expect(await trial.reports.first(5).suffix(2) == ["done 0", "done 1"])
        }
        #expect(trial.reports.all.count == 5)
    }

    @Test func aPageThatDoesNotReactFillsTheMailboxAndNotMemory() async throws {
        let intake = RecordingIntake()
        let trial = try WebViewTrial(intake) { $0.messagesToPage = 8 }
        try await trial.whileRunning("signalbox.on('show', report);") {
            await trial.view.hang()
            var sent = 0
            // Full for a moment it may be before; full for good once as many evaluations hang as may.
            while sent < 100_000, !Task.isCancelled {
                let hangs = await trial.view.mostHeld == 4
                if (try? trial.page.send("show", id: nil, body: Bytes("\(sent)"))) != nil {
                    sent += 1
                } else if hangs {
                    break
                }
                await Task.yield()
            }
            let refusal = #expect(throws: SendRefused.self) { try trial.page.send("show", id: nil, body: Bytes("0")) }
            #expect(refusal == .full)
            #expect(await trial.view.mostHeld <= 4)
            await trial.view.revive()
            #expect(await trial.reports.first(sent) == (0..<sent).map(String.init))
        }
    }

    @Test func aFloodWithoutListenersIsBoundedInThePage() async throws {
        let trial = try WebViewTrial(RecordingIntake()) { $0.messagesWithoutListener = 3 }
        try await trial.whileRunning {
            for number in 0..<5 { try trial.page.send("show", id: nil, body: Bytes("\(number)")) }
            _ = await trial.log.line(containing: "too many wait for a listener", times: 2)
            try await trial.evaluate("signalbox.on('show', report);")
            #expect(await trial.reports.first(3) == ["2", "3", "4"])
        }
    }

    @Test func manyMessagesBothWaysAtOnceAreAllThere() async throws {
        let intake = RecordingIntake { taken in
            taken.settle(.handled(reply: (try? taken.arrival.reading.get())?.body.json))
        }
        let trial = try WebViewTrial(intake) {
            $0.messagesInFlight = 20
            $0.messagesToPage = 1_000_000
        }
        let script = """
            let sum = 0;
            signalbox.on('add', async (value) => { sum += value; return signalbox.call('echo', value); });
            """
        try await trial.whileRunning(script) {
            let page = trial.page
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 1...200 {
                    group.addTask { try await page.call("add", number, returning: Int.self, timeout: .seconds(600)) }
                }
                var sum = 0
                for try await number in group { sum += number }
                #expect(sum == 20_100)
            }
            try await trial.evaluate("report(sum);")
            #expect(await trial.reports.first(1) == ["20100"])
        }
    }
}
