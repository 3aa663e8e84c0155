import Foundation
import Signalbox
import SignalboxCore
import TestSupport
import Testing
import WebSocketChat

@testable import BrokerKit
@testable import HTTPActions

/// Requests that no correct client sends.
@Suite(.timeLimit(.minutes(5))) struct HostileRequestTests {
    private static let head = "POST /order HTTP/1.1\r\nHost: a\r\n"

    /// Requests that two servers could take for different ones (RFC 9112, 11.2), and their statuses.
    @Test(arguments: [
        ("Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400),
        ("Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
        ("Content-Length: 2, 2\r\n\r\n{}", 400), ("Content-Length: +2\r\n\r\n{}", 400),
        ("Content-Length: -1\r\n\r\n", 400), ("Content-Length: 0x2\r\n\r\n{}", 400),
        ("Content-Length: 99999999999999999999\r\n\r\n{}", 400), ("Content-Length: 2 2\r\n\r\n{}", 400),
        ("Content-Length: 2\(String(repeating: " ", count: 40))\r\n\r\n{}", 400),
        ("Content-Length : 2\r\n\r\n{}", 411), ("\r\n", 411),
        ("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400), ("Transfer-Encoding: identity\r\n\r\n", 400),
        ("Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400), ("Transfer-Encoding: chunked\r\n\r\nx\r\n", 400),
        ("Transfer-Encoding: chunked\r\n\r\n-1\r\n", 400), ("Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n", 400),
        ("Transfer-Encoding: chunked\r\n\r\n1\nab", 400),
        ("Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n", 400),
        ("Expect: something\r\nContent-Length: 2\r\n\r\n{}", 417),
        ("Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", 415),
    ])
    func anAmbiguousRequestIsRefusedAndItsConnectionCloses(rest: String, status: Int) async throws {
        let intake = RecordingIntake()
        try await RequestTrial.with(intake: intake) { trial in
            let peer = try #require(RawPeer(port: trial.port))
            // What follows must not be taken for a request.
            peer.write(Self.head + rest + "POST /smuggled HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}")
            let answers = String(decoding: await peer.read { _ in false }, as: UTF8.self)
            #expect(answers.hasPrefix("HTTP/1.1 \(status) "), "\(answers.prefix(80))")
            #expect(answers.components(separatedBy: "HTTP/1.1 ").count == 2)
        }
        #expect(intake.taken.all.isEmpty)
    }

    @Test func aGetWithABodyIsRefused() async throws {
        try await RequestTrial.with(intake: RecordingIntake()) { trial in
            let text = "GET /order HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\nContent-Length: 3\r\n\r\nabc"
            let answer = try await trial.answer(HTTPText(text))
            #expect(answer.status == 400)
        }
    }

    /// The intake handles even an arrival whose action is malformed.
    @Test(arguments: [
        ("/a/../order", 200), ("//order", 200), ("/order/", 200), ("/%2e%2e/order", 200), ("/a/b", 404), ("/", 404),
        ("/order%00", 404), ("/%6frder", 200), ("/order;x=1", 400), ("/order&x", 400), ("/order%0a", 400),
        ("/order%20", 200), ("/or%20der", 200), ("/\(String(repeating: "a", count: 65))", 200),
    ])
    func aPathLeadsToNoMoreThanAnAction(path: String, status: Int) async throws {
        let intake = RecordingIntake()
        try await RequestTrial.with(intake: intake) { trial in
            let answer = await HTTPText.Answer(
                RawPeer(port: trial.port)?.converse(HTTPText("POST", path, [], "{}").text) ?? []
            )
            // The library itself drops a request with an escaped NUL.
            if path.contains("%00"), answer == nil { return }
            #expect(answer?.status == status, "\(path)")
        }
        for taken in intake.taken.all { #expect(["order", "malformed"].contains(taken.name)) }
    }

    @Test func aRequestNeedsAHost() async throws {
        try await RequestTrial.with(intake: RecordingIntake()) { trial in
            let answer = try await trial.answer(HTTPText("POST /order HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"))
            #expect(answer.status == 400)
        }
    }

    @Test func theAnswerToHeadHasNoBody() async throws {
        try await RequestTrial.with(intake: RecordingIntake()) { trial in
            let peer = try #require(RawPeer(port: trial.port))
            peer.write(HTTPText("HEAD", "/order").text)
            let head = String(decoding: await peer.readHead(), as: UTF8.self)
            #expect(head.hasPrefix("HTTP/1.1 405 ") && head.contains("Content-Length: "))
            let next = try await peer.answer(to: HTTPText("POST", "/order", [], "{}"))
            #expect(next.status == 200)
        }
    }

    @Test func soManyRequestsWaitForRoom() async throws {
        let intake = RecordingIntake.holding(room: 0)
        try await RequestTrial.with(intake: intake, { $0.waiting = 2 }) { trial in
            var peers: [RawPeer] = []
            for count in 1...2 {
                let peer = try #require(RawPeer(port: trial.port))
                peer.write(HTTPText("POST", "/order", [], "{}").text)
                while trial.server.counts.accepted < count { await Task.yield() }
                peers.append(peer)
            }
            let refused = try await trial.post("/order")
            #expect(refused.status == 429 && refused.headers["retry-after"] == "1")
            intake.close()
        }
    }

    @Test func aBodyBeyondTheLimitIsRefusedBeforeItIsRead() async throws {
        try await RequestTrial.with(intake: RecordingIntake(), { $0.limits.bytes = 10 }) { trial in
            let large = try await trial.answer(HTTPText(Self.head + "Content-Length: 11\r\n\r\n"))
            #expect(large.status == 413)
            let chunked = Self.head + "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n6\r\n"
            let pieces = try await trial.answer(HTTPText(chunked))
            #expect(pieces.status == 413)
            let small = try await trial.post("/order", "0123456789")
            #expect(small.status == 200)
            #expect(trial.server.counts.tooLarge == 2 && trial.server.counts.accepted == 1)
        }
    }

    @Test func manySmallChunksAreBoundedByTheBody() async throws {
        try await RequestTrial.with(intake: RecordingIntake(), { $0.limits.bytes = 1_000 }) { trial in
            let flood =
                Self.head + "Transfer-Encoding: chunked\r\n\r\n" + String(repeating: "1\r\nx\r\n", count: 100_000)
            let peer = try #require(RawPeer(port: trial.port))
            async let poured: Void = peer.pour(Array(flood.utf8))
            let answer = HTTPText.Answer(await peer.read { HTTPText.Answer($0) != nil })
            await poured
            #expect(answer?.status == 413)
        }
    }

    @Test func hugeHeadersCloseTheConnection() async throws {
        try await RequestTrial.with(intake: RecordingIntake()) { trial in
            let peer = try #require(RawPeer(port: trial.port))
            await peer.pour(Array((Self.head + "X-A: " + String(repeating: "a", count: 100_000)).utf8))
            #expect(await peer.closes())
            let answer = try await trial.post("/order")
            #expect(answer.status == 200)
        }
    }

    @Test func aSlowBodyIsCutAfterTheTimeout() async throws {
        try await RequestTrial.with(intake: RecordingIntake(), listener: { $0.httpTimeout = .seconds(1) }) { trial in
            let peer = try #require(RawPeer(port: trial.port))
            peer.write(Self.head + "Content-Length: 100000\r\n\r\n")
            #expect(await peer.drip([UInt8](repeating: UInt8(ascii: "x"), count: 2_000)))
            let chunked = try #require(RawPeer(port: trial.port))
            chunked.write(Self.head + "Transfer-Encoding: chunked\r\n\r\n")
            #expect(await chunked.drip(Array(String(repeating: "1\r\nx\r\n", count: 400).utf8)))
            let answer = try await trial.post("/order")
            #expect(answer.status == 200)
        }
    }

    @Test func idleConnectionsMakeRoomForRequests() async throws {
        try await RequestTrial.with(
            intake: RecordingIntake(),
            listener: {
                $0.connections = 1
                $0.httpConnections = 8
                $0.httpConnectionsPerAddress = 8
            }
        ) { trial in
            var peers: [RawPeer] = []
            for _ in 0..<40 {
                let peer = try #require(RawPeer(port: trial.port))
                let answer = try await peer.answer(to: HTTPText("POST", "/order", [], "{}"))
                #expect(answer.status == 200)
                peers.append(peer)
            }
            #expect(trial.server.counts.evicted >= 31)
        }
    }

    @Test func theLogNeverHasABodyOrAToken() async throws {
        try await RequestTrial.with(
            intake: RecordingIntake(),
            { $0.principals = [WebSocketPrincipal("shop", token: .text("0123456789abcdef"))] }
        ) { trial in
            _ = try await trial.post("/order", "secret-body", ["Authorization: Bearer secret-token"])
            _ = try await trial.post("/a/b?secret-query=1")
            let log = await trial.log.wait { $0.count >= 3 }.joined(separator: "\n")
            #expect(log.contains("refused 127.0.0.1 with 401") && log.contains("refused 127.0.0.1 with 404"))
            #expect(!log.contains("secret"))
        }
    }
}

extension RawPeer {
    /// Writes, ends the sending direction, and reads until the other side closes the connection.
    fileprivate func converse(_ text: String) async -> [UInt8] {
        write(text)
        return await read { HTTPText.Answer($0) != nil }
    }
}
