import Logging
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import JSBridge

/// Messages from a journal or a dead letter, which an engine reads again.
@Suite struct RestoringTests {
    private static let now = WallTime(seconds: 1_000_000)
    private static let facts = ScriptFacts(engine: "Test", isMainFrame: .no)

    /// Returns the stored form of a page's message.
    private func message(
        _ json: String,
        as envelope: Result<Envelope, Outcome.Rejection> = .success(.standard)
    ) throws -> StoredMessage {
        var batch = PageBatch(limits: MessageLimits())
        let origin = Origin(source: "page", facts: Self.facts)
        Array(json.utf8).withUnsafeBytes {
            batch.append($0, as: envelope, token: 3, origin: origin, sender: nil, timeout: 1_000)
        }
        let arrival = try #require(batch.take().first)
        return StoredMessage(arrival, facts: StoredMessage.facts(of: arrival.origin.facts), at: Self.now)
    }

    private func restore(_ message: StoredMessage) throws -> Arrival {
        let quiet = Logger(label: "page") { _ in SwiftLogNoOpLogHandler() }
        let engine = try JavaScriptCoreEngine(JavaScriptCoreConfiguration(source: "page", scripts: []), logger: quiet)
        let arrival = try #require(engine.restore([message], at: Self.now).first)
        #expect(arrival.token == 0 && arrival.receivedAt == message.receivedAt && arrival.sender == nil)
        #expect(arrival.original.elementsEqual(message.original))
        if !message.hasSenderID, let id = message.id, let action = try? arrival.reading.get() {
            #expect(action.id == id)
        }
        return arrival
    }

    private func rejection(_ arrival: Arrival) -> String? {
        guard case .failure(let rejection) = arrival.reading else { return nil }
        return rejection.detail
    }

    @Test func messagesAreReadWithTheirEnvelope() throws {
        var call = try message(#"{"action":"a","id":"7","body":1}"#)
        let action = try restore(call).reading.get()
        #expect(action.name == "a" && action.id.text == "7" && action.body.jsonText == "1")
        #expect(action.origin.facts as? ScriptFacts == Self.facts)
        let left = try #require(action.deadline) - .now
        #expect(left > .zero && left <= .seconds(1))
        call.expiresAt = Self.now.advanced(by: .seconds(-5))
        #expect(try #require(restore(call).reading.get().deadline) < .now)
        let post = try restore(try message("[1]", as: .success(.handler("shop")))).reading.get()
        #expect(post.name == "shop" && post.body.jsonText == "[1]")
    }

    @Test func whatTheEngineCouldNotReadIsNotReadAgain() throws {
        let cut = try message(#"{"action":"evil"}"#, as: PageBatch(limits: MessageLimits()).tooLong)
        #expect(try rejection(restore(cut))?.contains("only its beginning") == true)
        // The name of the handler is not known.
        let post = try message("{", as: .success(.handler("shop")))
        #expect(post.envelope == .handler && post.action == nil)
        #expect(try rejection(restore(post)) != nil)
    }

    @Test func unreadableFactsPermitNothing() throws {
        var message = try message(#"{"action":"a"}"#)
        message.facts = Bytes(#"{"engine":"Test","isMainFrame":"maybe"}"#)
        let arrival = try restore(message)
        #expect(rejection(arrival)?.contains("stored facts of kind script") == true)
        #expect(!(arrival.origin.facts is ScriptFacts) && arrival.origin.mustBeNamed)
    }

    @Test func factsAreDecodedAsTheyWereEncoded() throws {
        let origin = try WebOrigin("https://app.example:8443")
        for facts in [Self.facts, ScriptFacts(engine: "", isMainFrame: .unknown, origin: origin)] {
            #expect(try Body(json: BodyWriter.write(facts)).decode(ScriptFacts.self) == facts)
        }
    }
}

/// Calls of pages whose source has a journal.
@Suite(.timeLimit(.minutes(10))) struct AcceptedCallTests {
    /// Both calls report that they are accepted, and the first one its reply.
    private static let script = """
        for (const name of ['one', 'two']) {
          const onAccepted = () => { signalbox.call('accepted', name); throw new Error('thrown on purpose'); };
          signalbox.call(name, 1, { onAccepted }).then(
            (reply) => signalbox.call('reply', reply),
            (error) => signalbox.call('error', [error.code, String(error.outcome)]),
          );
        }
        """

    /// Waits for the reports, and settles the calls in between.
    private func check(_ intake: RecordingIntake) async {
        let accepted = await intake.taken.first(4)
        #expect(accepted.map(\.name) == ["one", "two", "accepted", "accepted"])
        #expect(accepted[2...].map(\.text) == ["one", "two"].map { #"{"action":"accepted","body":"\#($0)"}"# })
        accepted[1].settle(.abandoned(.kept))
        accepted[0].settle(.handled(reply: Bytes("[2]")))
        let reply = await intake.taken.first(5)[4]
        #expect(reply.text == #"{"action":"reply","body":[2]}"#)
    }

    @Test func aHeadlessPageLearnsThatItsCallsAreAccepted() async throws {
        let intake = RecordingIntake.holding()
        let trial = try PageTrial(Self.script)
        let run = AcceptingIntake(intake: intake)
        try await ServiceRun.during({ try await trial.engine.run(into: run) }, onFailure: intake.settleAll) {
            await check(intake)
            #expect(trial.engine.scriptErrors == 2)
            intake.settleAll()
        }
        // The call that stays in the journal has no outcome in this page.
        #expect(intake.taken.all.count == 5)
    }

    @Test func aWebViewLearnsThatItsCallsAreAccepted() async throws {
        let intake = RecordingIntake.holding()
        // An accepted message uses no credit, so the page can send more than one.
        let trial = try WebViewTrial(AcceptingIntake(intake: intake)) { $0.messagesInFlight = 1 }
        try await trial.whileRunning(Self.script) {
            await check(intake)
            intake.settleAll()
        }
    }
}
