import AdapterSupport
import Foundation
import SignalboxCore
import SignalboxRoutes
import TestSupport
import Testing
import WebSocketChat

@testable import BrokerKit
@testable import HTTPActions

/// What the bodies of requests are read as.
@Suite(.timeLimit(.minutes(5))) struct BodyTests {
    /// Sends a request and returns the arrival that it becomes, with the status of its answer.
    private static func arrival(
        _ request: HTTPText,
        _ configure: (inout HTTPActionConfiguration) -> Void = { _ in }
    ) async throws -> Arrival {
        let intake = RecordingIntake()
        try await RequestTrial.with(intake: intake, configure) { trial in
            let answer = try await trial.answer(request)
            #expect(answer.status == 200)
        }
        return try #require(intake.taken.all.first).arrival
    }

    private static func json(_ arrival: Arrival) throws -> String {
        try arrival.reading.get().body.jsonText
    }

    @Test(arguments: [
        ("application/json; charset=utf-8", PayloadKind.json), ("application/vnd.shop+json", .json),
        ("text/plain", .text), ("application/octet-stream", .bytes), ("", .bytes),
    ])
    func theContentTypeDecides(type: String, kind: PayloadKind) async throws {
        let headers = type.isEmpty ? [] : ["Content-Type: \(type)"]
        let arrival = try await Self.arrival(HTTPText("POST", "/note", headers, "\"x\""))
        #expect(try arrival.reading.get().body.payloadKind == kind)
        #expect(String(decoding: arrival.original, as: UTF8.self) == "\"x\"")
    }

    @Test(arguments: [(HTTPActionPayload.json, PayloadKind.json), (.text, .text), (.bytes, .bytes)])
    func aRouteCanDecideInstead(payload: HTTPActionPayload, kind: PayloadKind) async throws {
        // This is what curl -d sends.
        let request = HTTPText("POST", "/note", ["Content-Type: application/x-www-form-urlencoded"], #"{"a":1}"#)
        let arrival = try await Self.arrival(request) { configuration in
            configuration.routes[0].payload = payload
        }
        #expect(try arrival.reading.get().body.payloadKind == kind)
    }

    @Test func theFieldsOfAFormAreMembers() async throws {
        let request = HTTPText(
            "POST",
            "/order?from=web",
            ["Content-Type: application/x-www-form-urlencoded"],
            "amount=3&note=a+b%21&tag=x&tag=y&action=other"
        )
        let arrival = try await Self.arrival(request)
        #expect(try Self.json(arrival) == #"{"from":"web","amount":"3","note":"a b!","tag":["x","y"]}"#)
        #expect(try arrival.reading.get().name == "order")
        struct Order: Decodable { let amount: Int }
        #expect(try arrival.reading.get().body.decode(Order.self).amount == 3)
    }

    @Test func capturesAndTheQueryAreMembers() async throws {
        let request = HTTPText(
            "POST",
            "/hooks/git%20hub/push?n=a%2Bb",
            ["Content-Type: application/json"],
            #"{"x":1,"n":0}"#
        )
        let arrival = try await Self.arrival(request) { configuration in
            configuration.routes = [HTTPActionRoute(Self.pattern("/hooks/{provider}/{action}"))]
        }
        #expect(try Self.json(arrival) == #"{"provider":"git hub","n":"a+b","x":1}"#)
        #expect(try arrival.reading.get().name == "push")
        let facts = try #require(arrival.origin.facts as? HTTPActionFacts)
        #expect(facts.path == "/hooks/git%20hub/push" && facts.query == "n=a%2Bb" && facts.method == "POST")
        #expect(facts.peer == "127.0.0.1" && !facts.tls && facts.principal == nil)
    }

    static func pattern(_ text: String) -> URLPattern {
        do throws(RoutePatternError) { return try URLPattern(text) } catch { preconditionFailure("\(error)") }
    }

    @Test func aRequestWithoutABodyHasTheMembersOfItsPath() async throws {
        let arrival = try await Self.arrival(HTTPText("POST", "/ping?n=1", [], ""))
        #expect(try Self.json(arrival) == #"{"n":"1"}"#)
    }

    // MARK: - CloudEvents

    private static func checkEvent(_ arrival: Arrival, data: String) throws {
        let action = try arrival.reading.get()
        #expect(action.name == "com.example.order" && action.id.text == "e-1")
        #expect(action.body.jsonText == data)
        #expect(action.cloudEventAttributes?.jsonText.contains("\"source\":\"/shop\"") == true)
    }

    @Test func aCloudEventInStructuredModeNamesItsAction() async throws {
        let event = #"{"specversion":"1.0","type":"com.example.order","source":"/shop","id":"e-1","data":{"n":1}}"#
        let request = HTTPText("POST", "/events", ["Content-Type: application/cloudevents+json; charset=utf-8"], event)
        let arrival = try await Self.arrival(request)
        try Self.checkEvent(arrival, data: #"{"n":1}"#)
        #expect(String(decoding: arrival.original, as: UTF8.self) == event)
    }

    @Test(arguments: [
        ("application/json", #"{"n":1}"#, #"{"n":1}"#), ("text/plain", "a\"b", #""a\"b""#),
        ("application/octet-stream", "abc", #""YWJj""#),
    ])
    func aCloudEventInBinaryModeHasItsAttributesInHeaders(type: String, body: String, data: String) async throws {
        let headers = [
            "Content-Type: \(type)", "ce-specversion: 1.0", "ce-type: com.example.order", "ce-source: /shop",
            "ce-id: e-1", "ce-subject: Euro%20%E2%82%AC",
        ]
        let arrival = try await Self.arrival(HTTPText("POST", "/events", headers, body))
        try Self.checkEvent(arrival, data: data)
        #expect(try arrival.reading.get().cloudEventAttributes?.jsonText.contains("Euro €") == true)
    }

    // MARK: - Chunks

    @Test func aBodyMayComeInChunks() async throws {
        let request = HTTPText(
            "POST /note HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "3\r\nabc\r\n2;name=value\r\nde\r\n0\r\nTrailer: x\r\n\r\n"
        )
        let arrival = try await Self.arrival(request)
        #expect(String(decoding: arrival.original, as: UTF8.self) == "abcde")
    }

    @Test func aClientThatExpectsContinueGetsIt() async throws {
        let intake = RecordingIntake()
        try await RequestTrial.with(intake: intake) { trial in
            let peer = try #require(RawPeer(port: trial.port))
            peer.write("POST /note HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            let interim = await peer.readHead()
            #expect(String(decoding: interim, as: UTF8.self) == "HTTP/1.1 100 Continue\r\n\r\n")
            let answer = try await peer.answer(to: HTTPText("abc"))
            #expect(answer.status == 200)
        }
        #expect(intake.taken.all.first?.text == "abc")
    }

    // MARK: - Stored messages

    @Test func aStoredRequestIsReadAgain() async throws {
        let requests = [
            HTTPText("POST", "/order?from=web", ["Content-Type: application/x-www-form-urlencoded"], "amount=3"),
            HTTPText("POST", "/order", ["Content-Type: application/json", "Idempotency-Key: k-1"], #"{"amount":3}"#),
            HTTPText("POST", "/events", ["ce-specversion: 1.0", "ce-type: a", "ce-source: b", "ce-id: c"], "1"),
        ]
        let server = try RequestTrial.make(RequestTrial.configuration(), on: RequestTrial.listener()).server
        for request in requests {
            let arrival = try await Self.arrival(request)
            let stored = StoredMessage(arrival, facts: StoredMessage.facts(of: arrival.origin.facts), at: .now())
            let again = try #require(server.restore([stored], at: .now()).first)
            let (first, second) = (try arrival.reading.get(), try again.reading.get())
            #expect(first.name == second.name && first.id == second.id && first.idKey == second.idKey)
            #expect(first.body.jsonText == second.body.jsonText)
            #expect(again.origin.facts as? HTTPActionFacts == arrival.origin.facts as? HTTPActionFacts)
        }
    }
}
