import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import JSBridge

/// Documents that are loaded and replaced while messages are in flight.
@Suite(.timeLimit(.minutes(10))) struct WebViewDocumentTests {
    private static let call = "signalbox.call('work').then(() => report('done'), (error) => report(error.code));"

    @Test func outcomesOfAnEarlierDocumentAreDropped() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake) { $0.messagesInFlight = 2 }
        try await trial.whileRunning(Self.call + Self.call) {
            let old = await intake.taken.first(2)
            try await trial.load(Self.call)
            #expect(intake.taken.all.count == 2, "both are outstanding, so the new document has no credit")
            old[0].settle()
            await intake.taken.first(3).last?.settle()
            #expect(await trial.reports.first(1) == ["done"])
            old[1].settle()
            try await trial.evaluate(Self.call)
            await intake.taken.first(4).last?.settle()
            #expect(await trial.reports.first(2) == ["done", "done"], "both calls of the new document")
        }
        #expect(trial.counters.value.lateTexts == 0)
    }

    @Test func callsToAReplacedDocumentEndAsClosed() async throws {
        let trial = try WebViewTrial(RecordingIntake())
        let script = "signalbox.on('ask', () => { report('asked'); return new Promise(() => {}); });"
        try await trial.whileRunning(script) {
            let page = trial.page
            func ask() async -> PageCallError? {
                do throws(PageCallError) {
                    try await page.call("ask", 1, timeout: .seconds(600))
                    return nil
                } catch {
                    return error
                }
            }
            for (number, leave) in [trial.reload, trial.crash].enumerated() {
                async let first = ask()
                async let second = ask()
                _ = await trial.reports.first(2 * number + 2)
                try await leave()
                let codes = await [first?.code, second?.code]
                #expect(codes == [.closed, .closed])
                try await trial.load(script)
            }
        }
        #expect(trial.counters.value.processesEnded == 1)
    }

    @Test func aWaitingCallReachesTheNextBridgedDocument() async throws {
        let trial = try WebViewTrial(RecordingIntake())
        try await trial.whileRunning {
            await trial.view.crash()
            async let answer = trial.page.call("ask", 1, returning: Int.self, timeout: .seconds(600))
            try await trial.load(origin: "https://evil.example")
            try await trial.load("signalbox.on('ask', (n) => n + 1);")
            let two = try await answer
            #expect(two == 2)
        }
    }

    @Test func aHelloReplacesTheDocument() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake)
        let header = "0000000000000001 https://app.example"
        try await trial.whileRunning(Self.call) {
            await intake.taken.first(1).last?.settle()
            #expect(await trial.reports.first(1) == ["done"])
            trial.run.received(header + "\nhello\n\n")
            try await trial.evaluate(Self.call)
            #expect(trial.counters.value.lateTexts == 1, "a text of the earlier document is late")
            trial.run.received(header + "\ncall 1 0 10\n\n{\"action\":\"a\"}")
            #expect(trial.counters.value.malformedTexts == 1, "nothing is granted yet")
            #expect(intake.taken.all.count == 1)
        }
    }

    @Test func aDocumentRestoredFromTheCacheCountsAsNew() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake) { $0.messagesInFlight = 1 }
        try await trial.whileRunning(Self.call + Self.call) {
            let old = await intake.taken.first(1)
            trial.run.committed()
            try await trial.evaluate("fake.comeBack();")
            #expect(await trial.reports.first(2) == ["closed", "closed"], "the call in flight and the waiting call")
            old[0].settle()
            try await trial.evaluate(Self.call)
            await intake.taken.first(2).last?.settle()
            #expect(await trial.reports.first(3).last == "done")
        }
    }

    @Test func aReopenedDocumentReportsItsLostConnection() async throws {
        let intake = RecordingIntake()
        let trial = try WebViewTrial(intake)
        try await trial.whileRunning {
            try await trial.evaluate("fake.openAnew();" + Self.call)
            #expect(await trial.reports.first(1) == ["closed"])
            try await trial.view.injectAgain()
            try await trial.evaluate(Self.call)
            #expect(await trial.reports.first(2).last == "done")
            try await trial.evaluate("fake.openAnew(); signalbox.on('show', report);")
            try await trial.view.injectAgain()
            try trial.page.send("show", id: nil, body: Bytes("1"))
            #expect(await trial.reports.first(3).last == "1")
        }
        #expect(trial.counters.value.malformedTexts == 0)
    }

    @Test func replacedDocumentsReturnTheirCredit() async throws {
        let intake = RecordingIntake()
        let trial = try WebViewTrial(intake) { $0.messagesInFlight = 3 }
        try await trial.whileRunning {
            for _ in 0..<100 { try await trial.load(Self.call + Self.call + Self.call) }
            try await trial.load("signalbox.call('last').then(() => report('last'));")
            _ = await trial.reports.wait { $0.contains("last") }
        }
        #expect(intake.taken.all.last?.name == "last")
    }
}

extension WebViewTrial {
    fileprivate func reload() async throws {
        try await load()
    }

    fileprivate func crash() async throws {
        await view.crash()
    }
}

@Suite(.timeLimit(.minutes(10))) struct WebViewEndTests {
    private static let call = "signalbox.call('work').then(() => report('done'), (error) => report(error.code));"

    @Test func aGracefulEndAwaitsCallsInFlightAndDrainsNewOnes() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake)
        try await trial.untilEnd(Self.call) {
            let taken = await intake.taken.first(1)
            trial.run.stop()
            try await trial.evaluate(Self.call)
            #expect(await trial.reports.first(1) == ["drain"])
            trial.run.receivedRaw("page", "1") {
                #expect($0 == .error("drain: the program abandoned the message: drain"))
            }
            taken[0].settle()
        }
        #expect(trial.reports.all == ["drain", "done"])
        #expect(intake.taken.all.count == 1)
    }

    @Test func cancellationIsGracefulAndClosesCallsToThePage() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake)
        let script = "signalbox.on('ask', () => { report('asked'); return new Promise(() => {}); });" + Self.call
        let page = trial.page
        async let result = Result { try await page.call("ask", 1, timeout: .seconds(600)) }
        let run = Task { try await trial.untilEnd(script) {} }
        _ = await trial.reports.first(1)
        let taken = await intake.taken.first(1)
        run.cancel()
        taken[0].settle()
        try await run.value
        #expect(trial.reports.all == ["asked", "done"])
        guard case .failure(let error as PageCallError) = await result else { return #expect(Bool(false)) }
        #expect(error.code == .closed)
    }

    @Test func aPageThatKeepsCallingDoesNotDelayTheEnd() async throws {
        let trial = try WebViewTrial(RecordingIntake())
        let script =
            "(async () => { for (;;) await signalbox.call('work').catch((e) => { if (e.code === 'closed') throw e; }); })();"
        try await trial.untilEnd(script) { trial.run.stop() }
    }

    @Test func anUnresponsivePageDoesNotDelayTheEnd() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake, gracefulCloseTimeout: .milliseconds(1))
        try await trial.untilEnd(Self.call) {
            let taken = await intake.taken.first(1)
            await trial.view.hang()
            trial.run.stop()
            taken[0].settle()
        }
        #expect(trial.reports.all.isEmpty)
    }

    @Test func withoutAPageTheGracefulEndIsImmediate() async throws {
        let trial = try WebViewTrial(RecordingIntake())
        try await trial.untilEnd {
            await trial.view.crash()
            trial.run.stop()
        }
    }

    @Test func closingAwaitsEachSubmittedMessage() async throws {
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
        #expect(intake.taken.all.count == 2, "the third call is not submitted")
        #expect(trial.reports.all.isEmpty)
    }

    @Test func aFailureIsThrownAndClosesWaitingCalls() async throws {
        let trial = try WebViewTrial(RecordingIntake())
        let failure = JSBridgeError(.pageFailed, "the page's process ended 5 times", source: "page")
        let error = await #expect(throws: JSBridgeError.self) {
            try await trial.untilEnd {
                await trial.view.crash()
                async let result = Result { try await trial.page.call("ask", 1, timeout: .seconds(600)) }
                trial.run.fail(failure)
                trial.run.fail(JSBridgeError(.noResources, "later", source: "page"))
                guard case .failure(let error as PageCallError) = await result else { return #expect(Bool(false)) }
                #expect(error.code == .closed)
            }
        }
        #expect(error == failure)
    }

    @Test func aPageClosedBeforeItsRunEndsAtOnce() async throws {
        let trial = try WebViewTrial(RecordingIntake())
        try await trial.untilEnd { trial.page.close() }
        #expect(throws: SendRefused.self) { try trial.page.send("a", id: nil, body: Bytes("1")) }
    }

    @Test func closingLosesNoConcurrentOutcome() async throws {
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
                // Also settles the arrivals that are being submitted.
                intake.settleAll()
            }
        }
    }
}

extension Result where Failure == any Error {
    /// Captures the result of the work.
    fileprivate init(_ work: () async throws -> Success) async {
        do {
            self = .success(try await work())
        } catch {
            self = .failure(error)
        }
    }
}
