import Logging
import SignalboxCore
import SignalboxRoutes
import TestSupport
import Testing

@testable import WebSocketChat

/// Messages from a journal or a dead letter, which the source reads again.
@Suite struct RestoringTests {
    private static let now = WallTime(seconds: 1_000_000)

    private func server(_ change: (inout WebSocketServerConfiguration) -> Void = { _ in }) throws -> WebSocketServer {
        let quiet = Logger(label: "chat") { _ in SwiftLogNoOpLogHandler() }
        return try WebSocketServer(ServerTrial.configuration(change), logger: quiet)
    }

    private func stored(_ arrival: Arrival) -> StoredMessage {
        StoredMessage(arrival, facts: StoredMessage.facts(of: arrival.origin.facts), at: Self.now)
    }

    /// Returns the stored form of a message as it arrives with these frames.
    private func message(
        _ text: String,
        isBinary: Bool = false,
        _ frames: WebSocketFrames = WebSocketFrames(),
        limits: MessageLimits = MessageLimits()
    ) throws -> StoredMessage {
        let feeding = Feeding(limits: limits, frames: frames)
        _ = feeding.read(text, on: feeding.connection(), isBinary: isBinary)
        feeding.feeder.passEnded()
        return stored(try #require(feeding.intake.taken.first?.arrival))
    }

    private func restore(_ message: StoredMessage, _ frames: WebSocketFrames = WebSocketFrames()) throws -> Arrival {
        let arrival = try #require(server { $0.frames = frames }.restore([message], at: Self.now).first)
        #expect(arrival.token == 0 && arrival.receivedAt == message.receivedAt && arrival.sender == nil)
        #expect(arrival.original.elementsEqual(message.original) && arrival.origin.source == "chat")
        if !message.hasSenderID, let id = message.id, let action = try? arrival.reading.get() {
            #expect(action.id == id)
        }
        return arrival
    }

    private func rejection(_ arrival: Arrival) -> String? {
        guard case .failure(let rejection) = arrival.reading else { return nil }
        return rejection.detail
    }

    @Test func theCurrentFramesApply() throws {
        let text = #"{"action":"a","id":"7","body":1}"#
        var message = try message(text)
        message.expiresAt = Self.now.advanced(by: .seconds(-1))
        let action = try restore(message).reading.get()
        #expect(action.name == "a" && action.id.text == "7" && action.body.jsonText == "1")
        #expect(try #require(action.deadline) < .now)
        let other = try restore(message, WebSocketFrames(text: .action("tick", .text))).reading.get()
        #expect(other.name == "tick" && other.body.jsonText.contains("action"))
    }

    @Test func aBinaryMessageStaysBinary() throws {
        let frames = WebSocketFrames(binary: "blob")
        let message = try message("x", isBinary: true, frames)
        #expect(try restore(message, frames).reading.get().name == "blob")
        let changed = WebSocketFrames(text: .action("tick", .text), binary: "data")
        let action = try restore(message, changed).reading.get()
        #expect(action.name == "data" && action.body.payloadKind == .bytes)
        #expect(try rejection(restore(message))?.contains("not a binary one") == true)
        let bytes = WebSocketFrames(text: .action("tick", .bytes), binary: "blob")
        #expect(try restore(self.message("x", bytes), bytes).reading.get().name == "tick")
    }

    @Test func anEventWithBytesIsText() throws {
        let frames = WebSocketFrames(text: .envelope(.cloudEvents), binary: "blob")
        let event = #"{"specversion":"1.0","id":"7","source":"/s","type":"x","data_base64":"AAE="}"#
        #expect(try restore(message(event, frames), frames).reading.get().name == "x")
    }

    @Test func announcementsHaveTheirName() throws {
        let feeding = Feeding()
        let connection = feeding.connection()
        feeding.feeder.announce(.chatClosed, body: Array(#"{"peer":"p"}"#.utf8), on: connection)
        feeding.feeder.passEnded()
        let message = stored(try #require(feeding.intake.taken.first?.arrival))
        let action = try restore(message, WebSocketFrames(text: .action("tick", .text))).reading.get()
        #expect(action.name == .chatClosed && action.body.jsonText == #"{"peer":"p"}"#)
    }

    @Test func aMessageThatWasCutIsNotRead() throws {
        let frames = WebSocketFrames(text: .action("tick", .text))
        let message = try message("too long", frames, limits: MessageLimits(bytes: 4))
        #expect(message.original.text == "too ")
        #expect(try rejection(restore(message, frames))?.contains("only its beginning") == true)
    }

    @Test(arguments: ["null", #"{"role":"guest","peer":"p","tls":false}"#])
    func unreadableFactsPermitNothing(_ facts: String) throws {
        var message = try message(#"{"action":"a"}"#)
        message.facts = Bytes(facts)
        let arrival = try restore(message)
        #expect(rejection(arrival)?.contains("stored facts of kind chat") == true)
        #expect(!(arrival.origin.facts is ChatFacts) && arrival.origin.mustBeNamed)
    }

    @Test func aFeedReadsItsMessagesAgain() throws {
        let quiet = Logger(label: "feed") { _ in SwiftLogNoOpLogHandler() }
        let feed = try WebSocketFeed(
            .test(1) { $0.frames = WebSocketFrames(text: .action("tick", .json)) },
            logger: quiet
        )
        let arrivals = feed.restore([try message("[1]"), try message("{}")], at: Self.now)
        #expect(arrivals.map(\.token) == [0, 1])
        // The first one was an element of a batch, and is read alone.
        #expect(try arrivals.map { try $0.reading.get().body.jsonText } == ["1", "{}"])
        #expect(arrivals[0].origin === arrivals[1].origin)
    }

    @Test func factsAreDecodedAsTheyWereEncoded() throws {
        let origin = try WebOrigin("http://127.0.0.1:8080")
        for facts in [
            ChatFacts(role: .feed, peer: "h:1", tls: true),
            ChatFacts(role: .server, peer: "::1", origin: origin, principal: "p", subprotocol: "s"),
        ] {
            #expect(try Body(json: BodyWriter.write(facts)).decode(ChatFacts.self) == facts)
        }
        let own = ChatFacts(role: .server, peer: "p", origin: origin, isOwnPage: true)
        var message = try message(#"{"action":"a"}"#)
        message.facts = try BodyWriter.write(own)
        for (host, isOwn) in [("127.0.0.1", true), ("localhost", false)] {
            let server = try server {
                $0.port = 8_080
                $0.pagesHost = host
            }
            let facts = server.restore([message], at: Self.now).first?.origin.facts as? ChatFacts
            #expect(facts?.isOwnPage == isOwn && facts?.origin == origin)
        }
    }
}

/// Answers of a source with a journal.
@Suite(.timeLimit(.minutes(10))) struct AcceptedTests {
    @Test func aMessageIsAcceptedAndItsConnectionReadsOn() async throws {
        let intake = FakeIntake()
        try await ServerTrial.with(intake: AcceptingIntake(intake: intake)) {
            $0.connectionWindow = 1
        } _: { trial in
            try await ChatClients.with { clients in
                let client = try await clients.open(trial.port)
                client.send(#"{"action":"a","id":"1"}"#)
                client.send(#"{"action":"a"}"#)
                client.send(#"{"action":"a","uuid":"3"}"#)
                #expect(
                    await client.texts(2) == [
                        #"{"id":"1","outcome":"accepted"}"#, #"{"uuid":"3","outcome":"accepted"}"#,
                    ]
                )
                intake.taken[2].settle(.handled(reply: Bytes("3")))
                intake.taken[1].settle()
                #expect(await client.texts(3).last == #"{"uuid":"3","outcome":"handled","reply":3}"#)
                // The program stops, and the message stays in the journal.
                intake.taken[0].settle(.abandoned(.kept))
                client.send(#"{"action":"a","id":"4"}"#)
                #expect(await client.texts(4).last == #"{"id":"4","outcome":"accepted"}"#)
                intake.taken[3].settle()
                #expect(await client.texts(5).last == #"{"id":"4","outcome":"handled"}"#)
            }
        }
    }
}
