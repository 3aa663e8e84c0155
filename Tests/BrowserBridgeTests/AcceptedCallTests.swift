import BrokerKit
import Logging
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import BrowserBridge
@testable import JSBridge

/// Calls of pages whose source has a journal, and their stored messages.
@Suite(.timeLimit(.minutes(10))) struct AcceptedCallTests {
    @Test func aCallIsAcceptedAndThenAnswered() async throws {
        let intake = RecordingIntake.holding()
        let trial = try BrowserTrial { $0.messagesInFlight = 1 }
        let run = AcceptingIntake(intake: intake)
        try await ServiceRun.during({ try await trial.engine.run(into: run) }, onFailure: intake.settleAll) {
            let token = try await trial.engine.fragment().dropFirst("signalbox=".count)
            let socket = try await PageSocket(try await trial.port(), token: String(token))
            for number in 1...9 { socket.send("call \(number) 0\n{\"action\":\"pay\"}") }
            #expect(try await socket.texts(9) == (1...9).map { "accepted\n\($0)" })
            let taken = await intake.taken.first(9)
            taken[1].settle(.abandoned(.kept))
            taken[0].settle(.handled(reply: Bytes("2")))
            #expect(try await socket.texts(10).last == "reply 1\n2")
            intake.settleAll()
        }
        // The program sends nothing more for a message that stays in the journal.
        #expect(intake.taken.all.count == 9)
    }

    @Test func storedMessagesAreReadAgain() throws {
        let trial = try BrowserTrial()
        var batch = PageBatch(limits: MessageLimits())
        let facts = ScriptFacts(engine: "Browser", isMainFrame: .yes)
        let origin = Origin(source: BrowserTrial.source, facts: facts)
        for (json, envelope) in [(#"{"action":"a"}"#, Envelope.standard), ("1", .handler("h"))] {
            Array(json.utf8).withUnsafeBytes {
                batch.append($0, as: .success(envelope), token: 7, origin: origin, sender: nil)
            }
        }
        let now = WallTime(seconds: 1_000)
        let messages = batch.take().map {
            StoredMessage($0, facts: StoredMessage.facts(of: $0.origin.facts), at: now)
        }
        let arrivals = trial.engine.restore(messages, at: now)
        #expect(try arrivals.map { try $0.reading.get().name } == ["a", "h"])
        #expect(arrivals.allSatisfy { $0.origin.facts as? ScriptFacts == facts && $0.sender == nil })
    }
}

extension InChromium {
    @Suite struct AcceptedInBrowserTests {
        @Test func aPageLearnsThatItsCallIsAccepted() async throws {
            let intake = RecordingIntake.holding()
            // The page sends its next call while the first one has no outcome.
            let trial = try BrowserTrial(
                """
                for (const name of ['one', 'two']) {
                  signalbox.call(name, 1, { onAccepted: () => signalbox.call('accepted', name) }).then(
                    (reply) => signalbox.call('reply', reply),
                    (error) => { globalThis.failure = [error.code, error.outcome]; },
                  );
                }
                """,
                configure: { $0.messagesInFlight = 1 }
            )
            let run = AcceptingIntake(intake: intake)
            try await ServiceRun.during({ try await trial.engine.run(into: run) }, onFailure: intake.settleAll) {
                try await Chromium.with { browser in
                    let tab = try await browser.open(try await trial.url())
                    let taken = await intake.taken.first(4)
                    #expect(Set(taken.map(\.name)) == ["one", "two", "accepted"])
                    let one = try #require(taken.first { $0.name == "one" })
                    one.settle(.handled(reply: Bytes("[2]")))
                    #expect(await intake.taken.first(5)[4].text == #"{"action":"reply","body":[2]}"#)
                    trial.engine.pages.first?.close()
                    #expect(
                        try await tab.evaluate("new Promise((end) => setTimeout(() => end(failure), 500))")
                            == #"["closed","accepted"]"#
                    )
                    intake.settleAll()
                }
            }
        }
    }
}
