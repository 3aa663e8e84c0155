import Foundation
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing
import WebSocketChat

@testable import BrokerKit
@testable import HTTPActions

/// Requests that become actions, and their answers.
@Suite(.timeLimit(.minutes(5))) struct RequestTests {
    struct Order: Decodable, Sendable {
        let amount: Int
        var note: String?
    }

    struct Broken: Error {}

    private static func register(_ supervisor: Supervisor) throws {
        try supervisor.register(
            Registration("order", as: Order.self, from: .source("hooks")) { order, _ in "\(order.amount)!" }
        )
        try supervisor.register(Registration("silent", as: RawBody.self, from: .source("hooks")) { _, _ in })
        try supervisor.register(
            Registration("broken", as: RawBody.self, from: .source("hooks")) { _, _ in throw Broken() }
        )
        try supervisor.register(Registration("private", as: RawBody.self, from: .source("others")) { _, _ in })
    }

    @Test func theReplyIsTheBodyOfTheAnswer() async throws {
        try await RequestTrial.supervised(register: Self.register) { trial in
            let answer = try await trial.post("/order", #"{"amount":3}"#)
            #expect(answer.status == 200 && answer.body == "\"3!\"")
            #expect(answer.headers["content-type"] == "application/json")
            #expect(answer.headers["signalbox-outcome"] == "handled")
            let silent = try await trial.post("/silent")
            #expect(silent.status == 200 && silent.body.isEmpty && silent.headers["content-length"] == "0")
        }
    }

    @Test(arguments: [
        ("/order", "{", 400, "malformed"), ("/unknown", "{}", 404, "unknownAction"),
        ("/private", "{}", 403, "sourceNotAllowed"), ("/order", #"{"amount":"x"}"#, 422, "invalidBody"),
        ("/broken", "{}", 500, "threw"),
    ])
    func theStatusSaysWhatBecameOfTheAction(path: String, body: String, status: Int, code: String) async throws {
        try await RequestTrial.supervised(register: Self.register) { trial in
            let answer = try await trial.post(path, body)
            #expect(answer.status == status && answer.headers["signalbox-outcome"] == code)
            #expect(answer.body.contains("\"code\":\"\(code)\""))
            if status == 422 { #expect(answer.body.contains("\"path\":\"body.amount\"")) }
        }
    }

    @Test func anIdempotencyKeyIsTheID() async throws {
        let calls = EventList<String>()
        try await RequestTrial.supervised(register: {
            try $0.register(
                Registration("order", as: Order.self, from: .source("hooks")) { order, context in
                    calls.append(context.action.id.text)
                    return order.amount
                }
            )
        }) { trial in
            let headers = ["Content-Type: application/json", "Idempotency-Key: \"k-1\""]
            for _ in 0..<2 {
                let answer = try await trial.post("/order", #"{"amount":3}"#, headers)
                #expect(answer.status == 200 && answer.body == "3")
            }
            let conflict = try await trial.post("/order", #"{"amount":4}"#, headers)
            #expect(conflict.status == 409 && conflict.body.contains(#""id":"k-1""#))
            #expect(calls.all == ["k-1"])
            let long = try await trial.post("/order", "{}", ["Idempotency-Key: \(String(repeating: "k", count: 129))"])
            #expect(long.status == 400)
        }
    }

    @Test func oneConnectionCarriesManyRequests() async throws {
        try await RequestTrial.supervised(register: Self.register) { trial in
            let peer = try #require(RawPeer(port: trial.port))
            for number in 0..<20 {
                let answer = try await peer.answer(
                    to: HTTPText("POST", "/order", ["Content-Type: application/json"], "{\"amount\":\(number)}")
                )
                #expect(answer.body == "\"\(number)!\"")
            }
            #expect(trial.server.counts.accepted == 20)
        }
    }

    /// The library cannot read a body that it had buffered with the request before.
    @Test func aRequestThatDoesNotWaitForTheAnswerBeforeEndsItsConnection() async throws {
        try await RequestTrial.supervised(register: Self.register) { trial in
            let peer = try #require(RawPeer(port: trial.port))
            let requests = (0..<8).map { number in
                HTTPText("POST", "/order", ["Content-Type: application/json"], "{\"amount\":\(number)}").text
            }
            peer.write(requests.joined())
            let text = String(decoding: await peer.read { _ in false }, as: UTF8.self)
            #expect(text.contains("\"0!\"") && text.components(separatedBy: "HTTP/1.1 200").count == 2)
            let answer = try await trial.post("/order", #"{"amount":9}"#)
            #expect(answer.body == "\"9!\"")
            #expect(trial.server.counts.accepted == 2)
        }
    }

    @Test func aRequestWaitsForItsPluginHoweverLongTheRestTakes() async throws {
        let intake = RecordingIntake.holding()
        try await RequestTrial.with(intake: intake, listener: { $0.httpTimeout = .seconds(1) }) { trial in
            let peer = try #require(RawPeer(port: trial.port))
            let text = HTTPText("POST", "/order", ["Content-Type: application/json"], "{}").text
            peer.write(text)
            #expect(await intake.taken.first(1).count == 1)
            // A second connection whose request never ends is cut at the timeout, which the first one outlives.
            let slow = try #require(RawPeer(port: trial.port))
            slow.write("POST /order HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n{")
            #expect(await slow.closes())
            intake.settleAll()
            let answer = HTTPText.Answer(await peer.read { HTTPText.Answer($0) != nil })
            #expect(answer?.status == 200)
        }
    }

    @Test func aClientThatLeavesDoesNotStopItsAction() async throws {
        let intake = RecordingIntake.holding()
        try await RequestTrial.with(intake: intake) { trial in
            let peer = try #require(RawPeer(port: trial.port))
            peer.write(HTTPText("POST", "/order", [], "{}").text)
            #expect(await intake.taken.first(1).count == 1)
            peer.reset()
            let other = try await trial.answer(HTTPText("GET", "/order"))
            #expect(other.status == 405)
            intake.settleAll()
        }
        #expect(intake.taken.all.count == 1)
    }

    @Test func aStopAnswersWhatWasAccepted() async throws {
        let intake = RecordingIntake.holding()
        let peer = Watched<RawPeer?>(nil)
        try await RequestTrial.with(intake: intake) { trial in
            let connected = try #require(RawPeer(port: trial.port))
            peer.change { $0 = connected }
            connected.write(HTTPText("POST", "/order", [], "{}").text)
            #expect(await intake.taken.first(1).count == 1)
            intake.settleAll()
        }
        let answer = HTTPText.Answer(await peer.value?.read { HTTPText.Answer($0) != nil } ?? [])
        #expect(answer?.status == 200)
    }
}
