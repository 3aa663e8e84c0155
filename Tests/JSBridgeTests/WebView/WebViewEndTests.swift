import SignalboxCore
import SignalboxTesting
import Testing

@testable import JSBridge

@Suite(.timeLimit(.minutes(10))) struct WebViewEndTests {
    private static let call = "signalbox.call('work').then(() => report('done'), (error) => report(error.code));"

    @Test func aGracefulEndWaitsForWhatIsInFlightAndAnswersTheRestWithDrain() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake)
        try await trial.untilEnd(Self.call) {
            let taken = await intake.taken.first(1)
            trial.run.stop()
            try await trial.evaluate(Self.call)
            #expect(await trial.reports.first(1) == ["drain"])
            trial.run.receivedRaw("page", "1") {
                #expect($0 == .error("drain: the program let go of the message: drain"))
            }
            taken[0].settle()
        }
        #expect(trial.reports.all == ["drain", "done"])
        #expect(intake.taken.all.count == 1)
    }

    @Test func cancellationIsTheGracefulEndAndCallsInFlightAreClosedBeforeThePageGoes() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake)
        let script = "signalbox.on('ask', () => { report('asked'); return new Promise(() => {}); });" + Self.call
        let page = trial.page
        async let asked = Result { try await page.call("ask", 1, timeout: .seconds(600)) }
        let run = Task { try await trial.untilEnd(script) {} }
        _ = await trial.reports.first(1)
        let taken = await intake.taken.first(1)
        run.cancel()
        taken[0].settle()
        try await run.value
        #expect(trial.reports.all == ["asked", "done"])
        guard case .failure(let error as PageCallError) = await asked else { return #expect(Bool(false)) }
        #expect(error.code == .closed)
    }

    @Test func aPageThatCallsAgainAndAgainDoesNotKeepItsEnd() async throws {
        let trial = try WebViewTrial(RecordingIntake())
        let script =
            "(async () => { for (;;) await signalbox.call('work').catch((e) => { if (e.code === 'closed') throw e; }); })();"
        try await trial.untilEnd(script) { trial.run.stop() }
    }

    @Test func aPageThatDoesNotReactDoesNotKeepItsEnd() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake, lastWords: .milliseconds(1))
        try await trial.untilEnd(Self.call) {
            let taken = await intake.taken.first(1)
            await trial.view.hang()
            trial.run.stop()
            taken[0].settle()
        }
        #expect(trial.reports.all.isEmpty)
    }

    @Test func withoutAPageTheGracefulEndIsAtOnce() async throws {
        let trial = try WebViewTrial(RecordingIntake())
        try await trial.untilEnd {
            await trial.view.crash()
            trial.run.stop()
        }
    }

    @Test func closingReturnsWhenEverythingSubmittedIsSettled() async throws {
        let intake = RecordingIntake.holding(room: 2)
        let trial = try WebViewTrial(intake)
        let ended = EventList<Int>()
        let run = Task {
            try await trial.untilEnd(Self.call + Self.call + Self.call) {}
            ended.append(1)
        }
        let taken = await intake.taken.first(2)
        _ = await intake.roomCalls.first(1)
        trial.page.close()
        #expect(throws: SendRefused.self) { try trial.page.send("a", id: nil, body: Bytes("1")) }
        intake.makeRoom(10)
        taken[0].settle()
        #expect(ended.all.isEmpty)
        taken[1].settle()
        try await run.value
        #expect(intake.taken.all.count == 2, "what was not submitted is not")
        #expect(trial.reports.all.isEmpty)
    }

    @Test func aFailureIsThrownAndCallsThatWaitAreClosed() async throws {
        let trial = try WebViewTrial(RecordingIntake())
        let failure = JSBridgeError(.pageFailed, "the page's process ended 5 times", source: "page")
        let error = await #expect(throws: JSBridgeError.self) {
            try await trial.untilEnd {
                await trial.view.crash()
                async let asked = Result { try await trial.page.call("ask", 1, timeout: .seconds(600)) }
                trial.run.fail(failure)
                trial.run.fail(JSBridgeError(.noResources, "later", source: "page"))
                guard case .failure(let error as PageCallError) = await asked else { return #expect(Bool(false)) }
                #expect(error.code == .closed)
            }
        }
        #expect(error == failure)
    }

    @Test func aPageClosedBeforeItsRunServesEndsAtOnce() async throws {
        let trial = try WebViewTrial(RecordingIntake())
        try await trial.untilEnd { trial.page.close() }
        #expect(throws: SendRefused.self) { try trial.page.send("a", id: nil, body: Bytes("1")) }
    }

    @Test func outcomesFromManyThreadsWhileThePageClosesLoseNone() async throws {
        for count in [1, 20, 60, 90] {
            let intake = RecordingIntake.holding()
            let trial = try WebViewTrial(intake) { $0.messagesInFlight = 10 }
            let calls = "for (let i = 0; i < 100; i += 1) { \(Self.call) }"
            try await trial.untilEnd(calls) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 1...100 {
                        group.addTask {
                            let all = await intake.taken.wait {
                                $0.count >= number || $0.contains { $0.text == "closed" }
                            }
                            if all.count >= number { all[number - 1].settle() }
                        }
                        if number == count { break }
                    }
                    try await group.waitForAll()
                }
                trial.page.close()
                // What is being submitted in this moment too.
                intake.giveUp()
            }
        }
    }
}

extension Result where Failure == any Error {
    /// What the work came to.
    fileprivate init(_ work: () async throws -> Success) async {
        do {
            self = .success(try await work())
        } catch {
            self = .failure(error)
        }
    }
}
