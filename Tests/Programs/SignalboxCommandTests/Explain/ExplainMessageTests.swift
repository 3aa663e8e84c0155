import ArgumentParser
import Foundation
import Logging
import NavigationChain
import Signalbox
import SignalboxCore
import SignalboxRoutes
import Testing

@testable import SignalboxCommand

@Suite struct ExplainMessageTests {
    private static let order = #"{"order":{"customer":"c-7"}}"#

    @Test func theTextHasOneLinePerStage() throws {
        let line = try ExplainFixture.line(Self.order, topic: "push/k7/order")
        let expected = [
            "    source          push",
            "    topic           push/k7/order",
            "    route           push/{device}/{action}",
            "    action          order",
            #"    content         {"device":"k7","order":{"customer":"c-7"}}"#,
            "ok  envelope        route",
            "ok  plugin          served by plugins[3], use: file",
            "ok  access          allowed by source push; the rule is any of (source push; source page)",
            "ok  deduplication   by id; the message has none",
            "ok  deadline        none",
            "ok  rateLimit       5 per second, bursts of 10",
            "ok  circuitBreaker  opens after 5 failures in a row for 30.0 seconds; closed, 0 failures in a row",
            "ok  body            decodes",
            #"ok  lane            at most 4 at once, in order per key; the key order.customer is "c-7""#,
            "ok  attempts        at most 3, with a delay of at most 1.0 seconds before the second, doubling up to 9.0 seconds",
            "ok  timeout         5.0 seconds",
            "ok  middleware      none",
            "ok  verdict         called",
        ]
        #expect(line.shown == expected)
        #expect(line.isCalled)
    }

    @Test func theJSONIsOneObject() throws {
        let line = try ExplainFixture.line(#"{"action":"dance","id":"a\u001bb","body":[1, 2]}"#, of: "page")
        let words = "no plugin is registered for this action"
        let expected =
            #"{"source":"page","envelope":"standard","action":"dance","id":"a\u001bb","body":[1,2],"#
            + #""verdict":{"code":"unknownAction","detail":"\#(words)"},"steps":["#
            + #"{"stage":"envelope","passes":true,"detail":"standard"},"#
            + #"{"stage":"plugin","passes":false,"detail":"\#(words)"}]}"#
        #expect(line.json == expected)
        #expect(line.shown.last == "no  verdict         unknownAction: \(words)")
        #expect(line.shown.contains(#"    id              a\eb"#))
    }

    @Test func theOutputMatchesTheSupervisorsExplanation() throws {
        let supervisor = Supervisor(logger: Logger(threshold: LogThreshold(.critical)))
        try supervisor.register(Registration(LogPlugin(action: "order"), from: .source("page")))
        let configuration = try ConfigurationFixture.read(ExplainFixture.text, for: .plugins)
        let source = try ExplainFixture.explainer().source("page", for: MessageFacts())
        let bytes = Array(#"{"action":"order","id":"7","body":1}"#.utf8)
        let message = try ExplainedMessage(bytes, MessageFacts(), of: source, in: configuration)
        let explanation = supervisor.explain(message.arrival)
        let encoded = try JSONSerialization.jsonObject(with: JSONEncoder().encode(explanation))
        let line = ExplanationLine(message, explanation, plugins: [])
        var shown = try line.object()
        shown["body"] = nil
        #expect(NSDictionary(dictionary: shown) == encoded as? NSDictionary)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let payload: String
        var topic: String?
        /// The first stage that does not pass.
        let stops: String
        let code: String
        let detail: String

        var testDescription: String { "\(payload) \(topic ?? "")" }
    }

    private static let rows = [
        Row(
            payload: "{",
            topic: "push/k/loading",
            stops: "envelope",
            code: "malformed",
            detail: "unexpectedEnd at byte 1"
        ),
        Row(
            payload: String(repeating: " ", count: 201),
            topic: "push/k/loading",
            stops: "envelope",
            code: "malformed",
            detail: "tooLarge: expected at most 200 bytes"
        ),
        Row(
            payload: "1",
            topic: "nowhere/k",
            stops: "envelope",
            code: "malformed",
            detail: "the topic matches none of the source's patterns"
        ),
        Row(
            payload: "1",
            topic: "count/many",
            stops: "envelope",
            code: "malformed",
            detail: "the filter of \"count/{n:int}\" matches it, but a level does not have the form that its "
                + "capture requires"
        ),
        Row(
            payload: "1",
            topic: "push/k/7",
            stops: "envelope",
            code: "malformed",
            detail: "the topic's {action} is not an action name"
        ),
        Row(payload: "{}", topic: "apple", stops: "envelope", code: "malformed", detail: "missingMember at aps"),
        Row(
            payload: "{}",
            topic: "events",
            stops: "envelope",
            code: "malformed",
            detail: "missingMember at specversion"
        ),
        Row(
            payload: "1",
            topic: "push/k/dance",
            stops: "plugin",
            code: "unknownAction",
            detail: "no plugin is registered for this action"
        ),
        Row(
            payload: "1",
            topic: "push/k/open",
            stops: "access",
            code: "sourceNotAllowed",
            detail: "link of scheme myapp of source shop"
        ),
    ]

    @Test(arguments: rows) func theStoppingStageStatesTheReason(_ row: Row) throws {
        let line = try ExplainFixture.line(row.payload, topic: row.topic)
        #expect(!line.isCalled)
        #expect(try line.stopping() == [row.stops])
        let verdict = try line.verdict()
        #expect(verdict["code"] == row.code)
        #expect(verdict["detail"]?.contains(row.detail) == true, "\(verdict)")
        #expect(line.shown.contains { $0.hasPrefix("no  \(row.stops)") })
    }

    @Test(arguments: [
        ("push/k/loading", "{}", "route", #"{"device":"k"}"#), ("plain/hall", "21.5", "route", #""21.5""#),
        ("raw/hall", "21.5", "route", #""21.5""#), ("count/7", "", "route", #"{"n":"7"}"#),
        ("apple", #"{"aps":{},"action":"temperature","n":1}"#, "apns", #"{"n":1}"#),
        (
            "events", #"{"specversion":"1.0","id":"1","source":"/x","type":"temperature","data":{"n":1}}"#,
            "cloudEvents",
            #"{"n":1}"#
        ),
    ])
    func theTopicDeterminesEnvelopeAndPayload(_ topic: String, _ payload: String, _ envelope: String, _ body: String)
        throws
    {
        let line = try ExplainFixture.line(payload, topic: topic)
        #expect(line.isCalled, "\(line.json)")
        #expect(line.json.contains("\"envelope\":\"\(envelope)\""))
        #expect(line.json.contains("\"body\":\(body),"), "\(line.json)")
    }

    @Test func rulesUseTheFactsOfAPush() throws {
        #expect(
            try ExplainFixture.line("{}", topic: "push/k/loading") { $0.retained = true }.stopping() == ["access"]
        )
        #expect(try ExplainFixture.line("{}", topic: "push/k/loading") { $0.qos = 0 }.isCalled)
    }

    @Test func rulesUseTheFactsOfAPage() throws {
        let payload = #"{"action":"loading"}"#
        let app = try WebOrigin("https://app.example")
        #expect(try ExplainFixture.line(payload, of: "page").stopping() == ["access"])
        #expect(try ExplainFixture.line(payload, of: "page") { $0.origin = app.description }.isCalled)
        for frame in [FrameRole.sub, FrameRole.unknown] {
            let line = try ExplainFixture.line(payload, of: "page") {
                $0.origin = app.description
                $0.frame = frame
            }
            #expect(try line.verdict()["code"] == "sourceNotAllowed")
        }
        let evil = try WebOrigin("https://app.example.evil.example")
        #expect(try ExplainFixture.line(payload, of: "page") { $0.origin = evil.description }.stopping() == ["access"])
    }

    @Test func aHandlerNamesTheActionOfAPage() throws {
        let line = try ExplainFixture.line(Self.order, of: "page") { $0.handler = "order" }
        #expect(line.isCalled)
        #expect(line.json.contains(#""envelope":"handler","action":"order","body":{"order":"#))
    }

    @Test(arguments: [
        (#"{"order":{}}"#, "absent"), (#"{"order":{"customer":null}}"#, "null"),
        (#"{"order":{"customer":[1, 2]}}"#, "[1,2]"),
        (#"{"order":{"customer":"a\u001b\u202e\"b"}}"#, #""a\u001b\u202e\"b""#),
        (
            #"{"order":{"customer":"\#(String(repeating: "x", count: 99))"}}"#,
            "\"" + String(repeating: "x", count: 63) + "…"
        ),
    ])
    func theOrderKeyIsTruncatedAndEscaped(_ payload: String, _ key: String) throws {
        let line = try ExplainFixture.line(payload, topic: "push/k7/order")
        let lane = try #require(line.shown.first { $0.contains("lane") })
        #expect(lane.hasSuffix("; the key order.customer is \(key)"), "\(lane)")
    }

    @Test func onlyAnIDOfTheSenderIsShown() throws {
        let named = try ExplainFixture.line(#"{"aps":{},"action":"temperature","id":"7"}"#, topic: "apple")
        #expect(named.json.contains(#""id":"7","#))
        #expect(named.json.contains("by id; not seen before"))
        let nameless = try ExplainFixture.line(#"{"aps":{},"action":"temperature"}"#, topic: "apple")
        #expect(!nameless.json.contains("\"id\""))
        #expect(nameless.json == (try ExplainFixture.line(#"{"aps":{},"action":"temperature"}"#, topic: "apple").json))
    }

    @Test(arguments: [
        ("push", nil, "add the message's topic with --topic"), ("shop", nil, "add a link with --url"),
        ("page", "a/b", "--topic does not apply to messages of 'page', which is a page"),
        ("psuh", nil, "there is no source 'psuh'; did you mean 'push'?"),
    ])
    func aRequestThatDoesNotFitTheSourceIsRefused(_ source: String, _ topic: String?, _ words: String) throws {
        let error = #expect(throws: CommandFailure.self) {
            try ExplainFixture.line("1", of: source, topic: topic)
        }
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }

    @Test func pageOptionsAreRefusedForABroker() throws {
        let error = #expect(throws: CommandFailure.self) {
            try ExplainFixture.line("1", topic: "push/k/order") { $0.handler = "order" }
        }
        #expect(error?.status == .usage)
        #expect(error?.description == "--handler does not apply to messages of 'push', which is an MQTT source")
    }

    @Test func theOptionSelectsTheInput() throws {
        #expect(try BodyArguments.parse(["--file", "-"]).source == .standardInput)
        #expect(try BodyArguments.parse(["-f", "a/b"]).source == .file("a/b"))
        #expect(try BodyArguments.parse(["-m", "-"]).source == .text("-"))
        #expect(try BodyArguments.parse(["--body", "@a"]).source == .text("@a"))
        #expect(try BodyArguments.parse([]).source == nil)
        #expect(InputSource("-") == .standardInput)
        #expect(InputSource("@a") == .text("@a"))
    }
}
