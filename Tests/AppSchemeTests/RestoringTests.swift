import AppScheme
import Logging
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

/// Links from a journal or a dead letter, which the adapter reads again, and links of a source with a journal.
@Suite(.timeLimit(.minutes(10))) struct RestoringTests {
    private static let now = WallTime(seconds: 1_000_000)

    private func message(_ link: String, _ routes: AppRoutes) throws -> StoredMessage {
        let arrival = try #require(routes.arrival(of: link, from: "links", limits: MessageLimits()))
        return StoredMessage(arrival, facts: StoredMessage.facts(of: arrival.origin.facts), at: Self.now)
    }

    private func restore(_ message: StoredMessage, _ routes: AppRoutes) throws -> Arrival {
        let arrival = try #require(LinkTrial(routes).adapter.restore([message], at: Self.now).first)
        #expect(arrival.token == 0 && arrival.receivedAt == message.receivedAt)
        #expect(arrival.original.elementsEqual(message.original))
        if !message.hasSenderID, let id = message.id, let action = try? arrival.reading.get() {
            #expect(action.id == id)
        }
        return arrival
    }

    @Test func theCurrentRoutesApply() throws {
        var message = try message("myapp://open/7", AppRoutes("myapp://open/{id}", "open"))
        let other = try AppRoutes("myapp://open/{number}", "show")
        let action = try restore(message, other).reading.get()
        #expect(action.name == "show" && action.body.jsonText == #"{"number":"7"}"#)
        #expect((action.origin.facts as? LinkFacts)?.scheme == "myapp")
        message.expiresAt = Self.now.advanced(by: .seconds(-1))
        #expect(try #require(restore(message, other).reading.get().deadline) < .now)
        // A link that no route matched.
        let unknown = try self.message("myapp://open/7", AppRoutes("myapp://close", "close"))
        #expect(unknown.action == nil)
        #expect(try restore(unknown, other).reading.get().name == "show")
    }

    @Test func aMessageThatIsNoLinkIsUnreadable() throws {
        let routes = try AppRoutes("myapp://open/{id}", "open")
        var message = try message("myapp://open/7", routes)
        message.factsKind = "push"
        let arrival = try restore(message, routes)
        guard case .failure(let rejection) = arrival.reading else { throw Unexpected() }
        #expect(rejection.detail.contains("stored facts of kind push") && !(arrival.origin.facts is LinkFacts))
    }

    private struct Unexpected: Error {}

    @Test func factsAreDecodedAsTheyWereEncoded() throws {
        for facts in [LinkFacts(scheme: "myapp", universalHost: nil), LinkFacts(scheme: "https", universalHost: "h:1")]
        {
            #expect(try Body(json: BodyWriter.write(facts)).decode(LinkFacts.self) == facts)
        }
    }

    @Test func acceptedLinksDoNotHoldUpOthers() async throws {
        let trial = LinkTrial(try AppRoutes("myapp://do/{id}", "do"))
        let intake = RecordingIntake.holding()
        let count = AppSchemeAdapter<LinkInbox>.maximumInFlight + 3
        for number in 0..<count { trial.inbox.open("myapp://do/\(number)") }
        let run = AcceptingIntake(intake: intake)
        try await ServiceRun.during({ await trial.adapter.run(into: run) }, onFailure: intake.settleAll) {
            let taken = await intake.taken.first(count)
            #expect(trial.reported.all.isEmpty)
            taken[1].settle(.abandoned(.kept))
            intake.settleAll()
        }
        // The run waits for the outcomes of accepted links, too.
        #expect(trial.reported.all.count == count)
    }
}
