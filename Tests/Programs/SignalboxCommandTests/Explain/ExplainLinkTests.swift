import ArgumentParser
import Foundation
import NavigationChain
import SignalboxRoutes
import Testing

@testable import SignalboxCommand

@Suite struct ExplainLinkTests {
    @Test func theTextSaysHowLongALinkIsHeld() async throws {
        let text = ExplainFixture.text.replacing("  other:\n", with: "  other:\n    hold: { time: 1m, messages: 1 }\n")
        let line = try await ExplainFixture.line(url: "other://do/dance", of: "other", in: text)
        let words =
            "no plugin is registered for this action; the message is held for at most 60.0 seconds until one is, and then "
            + "rejected as unknownAction; at most 1 message and 8388608 bytes are held"
        #expect(line.shown.contains("no  plugin          \(words)"))
        #expect(line.shown.contains("no  verdict         held: \(words)"))
    }

    @Test func theTextShowsTheSourceAndTheChainsDecision() async throws {
        let line = try await ExplainFixture.line(url: "MyApp://product/42", of: "shop")
        #expect(
            line.shown.prefix(7) == [
                "    url             myapp://product/42", "    source          shop",
                "    route           myapp://product/{number:int}", "    action          open",
                #"    content         {"number":"42"}"#, "ok  envelope        address",
                "ok  plugin          served by plugins[2], use: print",
            ]
        )
        let decision = "cancel by deepLink: would be opened natively: a deep link with the scheme myapp"
        #expect(line.shown.suffix(2) == ["    navigation      \(decision)", "ok  verdict         called"])
    }

    @Test func theJSONShowsTheRouteAndTheChainsDecision() async throws {
        let line = try await ExplainFixture.line(url: "other://do/loading?a=b", of: "other")
        let begin =
            #"{"url":"other://do/loading?a=b","source":"other","envelope":"address","action":"loading","#
            + #""scheme":"other","route":"other://do/{action}","body":{"a":"b"},"verdict":{"code":"sourceNotAllowed""#
        #expect(line.json.hasPrefix(begin), "\(line.json)")
        let end =
            #","navigation":{"policy":"cancel","decider":"fallback","reason":"no handler decided","#
            + #""trace":[{"handler":"deepLink","answer":"passed"},{"handler":"host","answer":"passed"}]}}"#
        #expect(line.json.hasSuffix(end), "\(line.json)")
    }

    @Test func theChainMayAllowALinkWithoutASource() async throws {
        let line = try await ExplainFixture.line(url: "https://shop.example/cart")
        #expect(!line.isCalled)
        let object = try line.object()
        #expect(object["source"] == nil && object["envelope"] == nil && object["action"] == nil)
        let detail =
            "none of the sources shop, other accepts it: no route matches this link of scheme https and host "
            + "\"shop.example\"; the nearest route is \"myapp://product/{number:int}\""
        #expect(try line.verdict() == ["code": "unknownAction", "detail": detail])
        #expect(try line.stopping() == ["envelope"])
        #expect((object["navigation"] as? [String: Any])?["policy"] as? String == "allow")
        #expect(
            line.shown == [
                "    url             https://shop.example/cart", "no  envelope        \(detail)",
                "    navigation      allow by host: the host is listed", "no  verdict         unknownAction: \(detail)",
            ]
        )
    }

    @Test func theFirstSourceWithARouteIsTheDefault() async throws {
        #expect(try await ExplainFixture.line(url: "myapp://product/1").object()["source"] as? String == "shop")
        #expect(try await ExplainFixture.line(url: "other://do/x").object()["source"] as? String == "other")
        let named = try await ExplainFixture.line(url: "myapp://product/1", of: "other")
        #expect(try named.object()["action"] as? String == "loading")
    }

    @Test(arguments: [
        (
            "https://good@evil.example", #"{"input":"https://good@evil.example","source":"shop","envelope":"none","#,
            "malformed"
        ),
        (
            "other://do/x", #"{"url":"other://do/x","source":"shop","envelope":"none","scheme":"other","#,
            "unknownAction"
        ),
        ("javascript:alert(1)", #"{"url":"javascript:alert(1)","source":"shop","#, "unknownAction"),
        ("a\u{1B}b\n", #"{"input":"a\u001bb\n","source":"shop","#, "malformed"),
    ])
    func aNamedSourceReportsWhyALinkDoesNotMatch(_ url: String, _ begin: String, _ code: String) async throws {
        let line = try await ExplainFixture.line(url: url, of: "shop")
        #expect(line.json.hasPrefix(begin), "\(line.json)")
        #expect(try line.verdict()["code"] == code)
        #expect(try line.stopping() == ["envelope"])
        #expect(!line.terminalLines.contains(0x1B))
    }

    @Test func aLinkOverTheLimitsIsExplained() async throws {
        let over = try await ExplainFixture.line(url: "myapp://product/1?a=\(String(repeating: "x", count: 200))")
        #expect(try over.verdict()["detail"] == "tooLarge: expected at most 200 bytes")
        let long = try await ExplainFixture.line(
            url: "myapp://product/\(String(repeating: "1", count: 70_000))",
            of: "shop"
        )
        #expect(try long.object()["inputCut"] as? Bool == true)
        #expect(long.json.utf8.count < 70_000)
    }

    @Test func unreadableItemsAreShown() async throws {
        let line = try await ExplainFixture.line(url: "myapp://product/1?a=1&a=%ZZ&b=%")
        #expect(try line.object()["unreadableItems"] as? Int == 2)
        #expect(line.json.contains(#""body":{"number":"1","a":["1"]}"#), "\(line.json)")
        #expect(line.shown.contains { $0.contains("unreadable") && $0.hasSuffix("2 query items") }, "\(line.shown)")
        let readable = try await ExplainFixture.line(url: "myapp://product/1?a=1")
        #expect(!readable.json.contains("unreadable"))
    }

    @Test func theDocumentedExampleMatchesTheOutput() async throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
        func text(_ file: String) throws -> String {
            String(decoding: try FileContent.read("\(root)/\(file)", limit: 1 << 20).get(), as: UTF8.self)
        }
        let explainer = try ExplainFixture.explainer(try text("examples/links/links.yaml"))
        let line = try await explainer.line(about: "myapp://cart/empty", of: nil)
        let example = line.shown.map { "    \($0)" }.joined(separator: "\n")
        #expect(try text("docs/commands/explain.md").contains(example))
    }

    @Test func withoutALinksSourceNoLinkMatches() async throws {
        let text = ConfigurationFixture.lines.joined(separator: "\n")
        let line = try await ExplainFixture.explainer(text).line(about: "myapp://x", of: nil)
        #expect(try line.verdict()["detail"] == "no source of the configuration has links")
        #expect(try line.object()["navigation"] == nil)
        await #expect(throws: CommandFailure.self) {
            try await ExplainFixture.explainer(text).line(about: "myapp://x", of: "push")
        }
    }
}

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
        return try explainer.line(about: Array(payload.utf8), facts, of: explainer.source(source, for: facts))
    }

    @Test func thePrincipalDeterminesAccess() throws {
        let kitchen = try Self.line(#"{"action":"order","body":1}"#, of: "chat") { $0.principal = "kitchen" }
        #expect(kitchen.isCalled)
        #expect(kitchen.json.contains(#""action":"order","peer":"127.0.0.1","principal":"kitchen","body":1"#))
        #expect(kitchen.shown.contains("    principal       kitchen"))
        let hall = try Self.line(#"{"action":"order"}"#, of: "chat") { $0.principal = "hall" }
        #expect(try hall.verdict()["code"] == "sourceNotAllowed")
    }

    @Test func framesNameTheActionOfABinaryMessage() throws {
        let app = try WebOrigin("https://app.example")
        let line = try Self.line("x", of: "chat") {
            $0.principal = "hall"
            $0.binary = true
            $0.origin = app.description
        }
        #expect(line.isCalled)
        #expect(line.json.contains(#""clientOrigin":"https://app.example""#), "\(line.json)")
    }

    @Test func framesDefineTheFormatOfText() throws {
        #expect(try Self.line("anything", of: "open").isCalled)
        let event = #"{"specversion":"1.0","id":"1","source":"/a","type":"tick","data":1}"#
        #expect(try Self.line(event, of: "feed").isCalled)
        #expect(try Self.line(#"{"action":"tick"}"#, of: "feed").verdict()["code"] == "malformed")
    }

    @Test func peersCannotSendInternalActions() throws {
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
        Refused(
            source: "chat",
            words: "every client of this chat has a principal; add it, such as --principal kitchen"
        ),
        Refused(source: "chat", change: { $0.principal = "kitchn" }, words: "did you mean 'kitchen'?"),
        Refused(
            source: "chat",
            change: { $0.origin = "https://evil.example" },
            words: "clients of this origin cannot connect"
        ),
        Refused(source: "open", change: { $0.binary = true }, words: "close the connection with 1003"),
        Refused(
            source: "chat",
            payload: " [1]",
            change: { $0.principal = "hall" },
            words: "an array is a batch of messages; pass one of them"
        ),
        Refused(
            source: "feed",
            change: { $0.principal = "hall" },
            words: "--principal does not apply to messages of 'feed', which is a feed"
        ),
        Refused(source: "chat", change: { $0.qos = 1 }, words: "--qos does not apply to messages of 'chat'"),
        Refused(source: "feed", change: { $0.frame = .main }, words: "--frame does not apply to messages of 'feed'"),
    ]

    @Test(arguments: refused.indices) func anImpossibleMessageIsAUsageError(_ number: Int) throws {
        let one = Self.refused[number]
        let error = #expect(throws: CommandFailure.self) {
            try Self.line(one.payload, of: one.source) { one.change(&$0) }
        }
        #expect(error?.status == .usage)
        #expect(error?.description.contains(one.words) == true, "\(error?.description ?? "")")
    }
}
