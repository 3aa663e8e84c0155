import SignalboxCore
import Testing
import WebSocketChat

@testable import SignalboxCommand

@Suite struct ConnectRequestTests {
    private static func request(_ options: ConnectOptions, url: String? = nil) throws -> ConnectRequest {
        ConnectRequest(
            url: try url.map { try WebSocketURL($0) },
            options: options,
            config: nil,
            source: nil,
            count: nil,
            timeout: nil,
            raw: nil,
            outgoing: OutgoingRequest()
        )
    }

    private static let section = """
        { url: 'wss://h', subprotocols: [a], origin: 'https://a.example', headers: { X-A: '1', X-B: '2' },
          bearer: { env: PASSWORD }, opening_messages: [a], ping_after: 7s, reconnect: { first: 3s }, trust: system }
        """

    @Test func withoutAConfigurationEachMessageIsOneAction() throws {
        let url = try WebSocketURL("ws://h")
        let feed = try Self.request(ConnectOptions()).plainFeed(to: url)
        #expect(feed.frames == WebSocketFrames(text: .action("message", .text), binary: "message"))
        #expect(feed.reconnect == nil)
        try feed.validate(as: ConnectRequest.source)
        var again = ConnectOptions()
        again.reconnects = true
        #expect(try Self.request(again).plainFeed(to: url).reconnect == WebSocketReconnect())
    }

    @Test func aSectionSaysWhatTheOptionsDoNot() throws {
        let section = try WebSocketFixture.feedSection(Self.section)
        var expected = section
        expected.reconnect = nil
        #expect(try Self.request(ConnectOptions()).configuredFeed(section) == expected)
    }

    @Test func theOptionsComeBeforeTheSection() throws {
        var options = ConnectOptions()
        options.subprotocols = ["b"]
        options.origin = "https://b.example"
        options.headers = [WebSocketHeader("x-b", .text("3"))]
        options.bearer = .file("b")
        options.trust = .anything
        options.identity = WebSocketIdentity(certificateFile: "c", keyFile: "k")
        options.openingMessages = ["b"]
        options.ping = .never
        options.compression = true
        options.reconnects = true
        let section = try WebSocketFixture.feedSection(Self.section)
        let feed = try Self.request(options, url: "wss://other").configuredFeed(section)
        #expect(feed.url.host == "other")
        #expect(feed.subprotocols == ["b"] && feed.origin == "https://b.example" && feed.bearer == .file("b"))
        #expect(feed.headers == [WebSocketHeader("X-A", .text("1")), WebSocketHeader("x-b", .text("3"))])
        #expect(feed.trust == .anything && feed.identity == options.identity && feed.openingMessages == ["b"])
        #expect(feed.ping == .never && feed.compression)
        #expect(feed.reconnect == WebSocketReconnect(first: .seconds(3)), "the section's waits, as it was asked for")
    }
}
