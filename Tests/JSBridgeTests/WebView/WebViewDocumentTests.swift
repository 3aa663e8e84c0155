import SignalboxCore
import SignalboxTesting
import Testing

@testable import JSBridge

/// Documents that come and go while messages are under way.
@Suite(.timeLimit(.minutes(10))) struct WebViewDocumentTests {
    private static let call = "signalbox.call('work').then(() => report('done'), (error) => report(error.code));"

    @Test func outcomesOfAnEarlierDocumentGoNowhere() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake) { $0.messagesInFlight = 2 }
        try await trial.whileRunning(Self.call + Self.call) {
            let old = await intake.taken.first(2)
            try await trial.load(Self.call)
            #expect(intake.taken.all.count == 2, "the two still count, and the new document has no credit")
            old[0].settle()
            await intake.taken.first(3).last?.settle()
            #expect(await trial.reports.first(1) == ["done"])
            old[1].settle()
            try await trial.evaluate(Self.call)
            await intake.taken.first(4).last?.settle()
            #expect(await trial.reports.first(2) == ["done", "done"], "each of the new document's own")
        }
        #expect(trial.counters.value.lateTexts == 0)
    }

    @Test func callersOfADocumentThatGoesGetClosed() async throws {
        let trial = try WebViewTrial(RecordingIntake())
        let asking = "signalbox.on('ask', () => { report('asked'); return new Promise(() => {}); });"
        try await trial.whileRunning(asking) {
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
                try await trial.load(asking)
            }
        }
        #expect(trial.counters.value.processesEnded == 1)
    }

    @Test func whatWaitsForADocumentIsNotLostWithTheOneBefore() async throws {
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

    @Test func aHelloAloneAlsoReplacesTheDocument() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake)
        let header = "0000000000000001 https://app.example"
        try await trial.whileRunning(Self.call) {
            await intake.taken.first(1).last?.settle()
            #expect(await trial.reports.first(1) == ["done"])
            trial.run.received(header + "\nhello\n\n")
            try await trial.evaluate(Self.call)
            #expect(trial.counters.value.lateTexts == 1, "what the one before says comes late")
            trial.run.received(header + "\ncall 1 0 10\n\n{\"action\":\"a\"}")
            #expect(trial.counters.value.malformedTexts == 1, "it has been granted nothing yet")
            #expect(intake.taken.all.count == 1)
        }
    }

    @Test func aDocumentThatComesBackFromTheCacheIsAnotherOne() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake) { $0.messagesInFlight = 1 }
        try await trial.whileRunning(Self.call + Self.call) {
            let old = await intake.taken.first(1)
            trial.run.committed()
            try await trial.evaluate("fake.comeBack();")
            #expect(await trial.reports.first(2) == ["closed", "closed"], "the one in flight, and the one that waited")
            old[0].settle()
            try await trial.evaluate(Self.call)
            await intake.taken.first(2).last?.settle()
            #expect(await trial.reports.first(3).last == "done")
        }
    }

    @Test func aDocumentThatIsOpenedAnewSaysThatItsWayIsGone() async throws {
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

    @Test func aHundredDocumentsLeaveNothingBehind() async throws {
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
