import Foundation
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing
import WebSocketChat

@testable import BrokerKit
@testable import HTTPActions

/// Server-Sent Events.
@Suite(.timeLimit(.minutes(5))) struct StreamTests {
    private static let request = HTTPText(
        "GET",
        "/watch?room=1",
        ["Accept: text/html, text/event-stream;q=0.9", "X-Requested-With: a"]
    )

    struct Watch: Decodable, Sendable { let room: Int }

    /// Returns what the peer receives up to a text.
    private static func read(_ peer: RawPeer, to text: String) async -> String {
        String(decoding: await peer.read { String(decoding: $0, as: UTF8.self).contains(text) }, as: UTF8.self)
    }

    @Test func aStreamHasWhatThePluginSendsAndTheOutcome() async throws {
        let senders = EventList<any Sender>()
        try await RequestTrial.supervised(register: {
            try $0.register(
                Registration("watch", as: Watch.self, from: .source("hooks")) { watch, context in
                    if let sender = context.sender { senders.append(sender) }
                    try context.sender?.send("news", ["room": watch.room])
                    return "watching"
                }
            )
        }) { trial in
            let peer = try #require(RawPeer(port: trial.port))
            peer.write(Self.request.text)
            let begin = await Self.read(
                peer,
                to: "signalbox.outcome\ndata: {\"outcome\":\"handled\",\"reply\":\"watching\"}\n\n"
            )
            #expect(begin.hasPrefix("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"))
            #expect(begin.contains("event: news\ndata: {\"room\":1}\n\n"))
            let sender = try #require(await senders.first(1).first)
            try sender.send("news", id: ActionID("n-1"), body: Bytes("[\n1]"))
            let later = await Self.read(peer, to: "1]\n\n")
            #expect(later == "event: news\nid: n-1\ndata: [\ndata: 1]\n\n")
            #expect(trial.server.counts.streams == 1)
        }
        // The stream ends with the source.
        #expect(throws: SendRefused.closed) { try senders.all[0].send("news", id: nil, body: Bytes("1")) }
    }

    @Test func anActionThatIsNotHandledIsAnsweredWithAStatus() async throws {
        try await RequestTrial.supervised(register: { _ in }) { trial in
            let answer = try await trial.answer(Self.request)
            #expect(answer.status == 404 && answer.body.contains("unknownAction"))
        }
    }

    @Test func aClientThatLeavesEndsItsStream() async throws {
        let senders = EventList<any Sender>()
        try await RequestTrial.supervised(register: {
            try $0.register(
                Registration("watch", as: Watch.self, from: .source("hooks")) { _, context in
                    if let sender = context.sender { senders.append(sender) }
                }
            )
        }) { trial in
            let peer = try #require(RawPeer(port: trial.port))
            peer.write(Self.request.text)
            _ = await Self.read(peer, to: "handled")
            peer.finish()
            #expect(await peer.closes())
            let sender = try #require(senders.all.first)
            #expect(throws: SendRefused.closed) {
                while true { try sender.send("news", id: nil, body: Bytes("1")) }
            }
        }
    }

    @Test func aClientThatDoesNotReadFillsItsStream() async throws {
        let senders = EventList<any Sender>()
        try await RequestTrial.supervised(
            listener: { $0.waitingBytes = 65_536 },
            register: {
                try $0.register(
                    Registration("watch", as: Watch.self, from: .source("hooks")) { _, context in
                        if let sender = context.sender { senders.append(sender) }
                    }
                )
            }
        ) { trial in
            let peer = try #require(RawPeer(port: trial.port, receiveBytes: 4_096))
            peer.write(Self.request.text)
            let sender = try #require(await senders.first(1).first)
            let body = Bytes("\"\(String(repeating: "x", count: 10_000))\"")
            #expect(throws: SendRefused.full) {
                for _ in 0..<10_000 { try sender.send("news", id: nil, body: body) }
            }
        }
    }

    @Test func thereAreAtMostSoManyStreams() async throws {
        try await RequestTrial.supervised(
            { $0.streams = 2 },
            register: {
                try $0.register(Registration("watch", as: Watch.self, from: .source("hooks")) { _, _ in })
            }
        ) { trial in
            var peers: [RawPeer] = []
            for _ in 0..<2 {
                let peer = try #require(RawPeer(port: trial.port))
                peer.write(Self.request.text)
                _ = await Self.read(peer, to: "handled")
                peers.append(peer)
            }
            let refused = try await trial.answer(Self.request)
            #expect(refused.status == 503 && refused.headers["retry-after"] == "1")
            let answer = try await trial.post("/watch?room=1")
            #expect(answer.status == 200)
        }
    }

    @Test func aSilentStreamHasComments() async throws {
        try await RequestTrial.supervised(
            { $0.heartbeat = .seconds(1) },
            register: {
                try $0.register(Registration("watch", as: Watch.self, from: .source("hooks")) { _, _ in })
            }
        ) { trial in
            let peer = try #require(RawPeer(port: trial.port))
            peer.write(Self.request.text)
            #expect(await Self.read(peer, to: "}\n\n:\n\n:\n\n").hasSuffix("}\n\n:\n\n:\n\n"))
        }
    }

    @Test func aRequestWithoutAStreamTakesOneAnswer() async throws {
        let senders = EventList<any Sender>()
        try await RequestTrial.supervised(register: {
            try $0.register(
                Registration("watch", as: Watch.self, from: .source("hooks")) { _, context in
                    if let sender = context.sender { senders.append(sender) }
                }
            )
        }) { trial in
            let answer = try await trial.post("/watch?room=1")
            #expect(answer.status == 200)
            #expect(throws: SendRefused.closed) { try senders.all.first?.send("news", id: nil, body: Bytes("1")) }
        }
    }
}
