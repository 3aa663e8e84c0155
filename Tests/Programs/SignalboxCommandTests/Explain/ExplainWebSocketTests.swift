import NavigationChain
import SignalboxRoutes
import Testing

@testable import SignalboxCommand

@Suite struct ExplainWebSocketTests {
    private static let text = """
        sources:
          chat:
            chat:
              port: 0
              origins: ['https://app.example']
              principals: { kitchen: { env: PASSWORD }, hall: { env: PASSWORD } }
              frames: { binary: picture }
          open: { chat: { port: 0, absent_origin: allowed, frames: { text: { action: said, payload: text } } } }
          feed: { feed: { url: 'wss://feed.example', frames: { text: cloud_events } } }
        plugins:
          - { action: order, use: echo, from: [ { source: chat, principal: kitchen } ] }
          - { action: picture, use: log, from: [ { source: chat, origin: 'https://app.example' } ] }
          - { action: said, use: broadcast, tag: lobby, from: [ { source: open, authenticated: false } ] }
          - { action: tick, use: log, from: [ { source: feed, tls: true } ] }
        """

    private static func line(
        _ payload: String,
        of source: String,
        _ change: (inout MessageFacts) throws -> Void = { _ in }
    ) throws -> ExplanationLine {
        var facts = MessageFacts()
        try change(&facts)
        let explainer = try ExplainFixture.explainer(text)
        return try explainer.line(about: Array(payload.utf8), facts, of: explainer.source(source))
    }

    @Test func aClientsPrincipalDecides() throws {
        let kitchen = try Self.line(#"{"action":"order","body":1}"#, of: "chat") { $0.principal = "kitchen" }
        #expect(kitchen.isCalled)
        #expect(kitchen.json.contains(#""action":"order","peer":"127.0.0.1","principal":"kitchen","body":1"#))
        #expect(kitchen.shown.contains("    principal       kitchen"))
        let hall = try Self.line(#"{"action":"order"}"#, of: "chat") { $0.principal = "hall" }
        #expect(try hall.verdict()["code"] == "sourceNotAllowed")
    }

    @Test func aBinaryMessageIsTheActionThatFramesName() throws {
        let app = try WebOrigin("https://app.example")
        let line = try Self.line("x", of: "chat") {
            $0.principal = "hall"
            $0.isBinary = true
            $0.origin = app
        }
        #expect(line.isCalled)
        #expect(line.json.contains(#""clientOrigin":"https://app.example""#), "\(line.json)")
    }

    @Test func framesSayWhatATextIs() throws {
        #expect(try Self.line("anything", of: "open").isCalled)
        let event = #"{"specversion":"1.0","id":"1","source":"/a","type":"tick","data":1}"#
        #expect(try Self.line(event, of: "feed").isCalled)
        #expect(try Self.line(#"{"action":"tick"}"#, of: "feed").verdict()["code"] == "malformed")
    }

    @Test func noPeerSendsWhatIsOurOwn() throws {
        let line = try Self.line(#"{"action":"signalbox.connected"}"#, of: "chat") { $0.principal = "hall" }
        #expect(try line.verdict()["code"] == "malformed")
    }

    struct Refused: Sendable {
        let source: String
        var payload = "{}"
        var change: @Sendable (inout MessageFacts) -> Void = { _ in }
        let words: String
    }

    private static let refused: [Refused] = [
        Refused(source: "chat", words: "every client here is a principal; say which, such as --principal kitchen"),
        Refused(source: "chat", change: { $0.principal = "kitchn" }, words: "did you mean 'kitchen'?"),
        Refused(
            source: "chat",
            change: { $0.origin = try? WebOrigin("https://evil.example") },
            words: "no client of this origin may connect"
        ),
        Refused(source: "open", change: { $0.isBinary = true }, words: "close the connection with 1003"),
        Refused(
            source: "chat",
            payload: " [1]",
            change: { $0.principal = "hall" },
            words: "an array is a batch of messages; give one of them"
        ),
        Refused(
            source: "feed",
            change: { $0.principal = "hall" },
            words: "--principal is about messages of another kind; 'feed' is a feed"
        ),
        Refused(source: "chat", change: { $0.qos = 1 }, words: "--qos is about messages of another kind"),
        Refused(source: "feed", change: { $0.frame = .main }, words: "--frame is about messages of another kind"),
    ]

    @Test(arguments: refused.indices) func whatTheSourceWouldNotTakeIsSaid(_ number: Int) throws {
        let one = Self.refused[number]
        let error = #expect(throws: CommandRefusal.self) {
            try Self.line(one.payload, of: one.source) { one.change(&$0) }
        }
        #expect(error?.status == .usage)
        #expect(error?.description.contains(one.words) == true, "\(error?.description ?? "")")
    }
}
