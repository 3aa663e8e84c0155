import AdapterSupport
import BrokerKit
import SignalboxCore
import Testing

@testable import HTTPClient

/// Responses that a client does not accept as they are.
@Suite(.timeLimit(.minutes(5))) struct HTTPResponseTests {
    /// Returns the error of a request to a server with one answer.
    private static func failure(
        _ answer: HTTPPeer.Answer,
        _ change: (inout HTTPRequest) -> Void = { _ in }
    ) async throws -> HTTPClientError? {
        let peer = try HTTPPeer { _, _ in answer }
        var found: HTTPClientError?
        try await HTTPClientTests.withClient { client in
            var request = try HTTPClientTests.request(peer)
            change(&request)
            found = await HTTPClientTests.failure(client, request)
        }
        return found
    }

    @Test func aLargeBodyIsNotRead() async throws {
        let large = String(repeating: "a", count: 1_001)
        #expect(
            try await Self.failure(.status(200, large)) { $0.maximumResponse = 1_000 }
                == .responseTooLarge(limit: 1_000)
        )
        #expect(try await Self.failure(.status(200, large)) { $0.maximumResponse = 1_001 } == nil)
        let endless =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + String(repeating: "1\r\na\r\n", count: 500)
        #expect(try await Self.failure(.raw(endless)) { $0.maximumResponse = 100 } == .responseTooLarge(limit: 100))
    }

    @Test func largeHeadersAreNotRead() async throws {
        let line = "X-A: " + String(repeating: "a", count: 1_000)
        let lines = Array(repeating: line, count: 70)
        #expect(try await Self.failure(.status(200, headers: lines)) == .headersTooLarge(limit: Transfer.headerLimit))
        let early = String(repeating: "HTTP/1.1 103 Early\r\n\(line)\r\n\r\n", count: 70)
        #expect(try await Self.failure(.raw(early)) == .headersTooLarge(limit: Transfer.headerLimit))
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "",
        "nonsense\r\n\r\n", "HTTP/0.9",
    ])
    func anIncompleteResponseIsAnError(_ bytes: String) async throws {
        guard case .interrupted = try await Self.failure(.raw(bytes)) else {
            Issue.record("the answer was accepted")
            return
        }
    }

    @Test func aServerThatDoesNotAnswerTimesOut() async throws {
        let limit = Duration.milliseconds(50)
        #expect(try await Self.failure(.silence) { $0.timeout = limit } == .timeout(limit))
        let half = HTTPPeer.Answer.raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", closes: false)
        #expect(try await Self.failure(half) { $0.timeout = limit } == .timeout(limit))
    }

    @Test func aClosedPortIsUnreachable() async throws {
        let (socket, port) = try LoopbackPort.refusing()
        defer { close(socket) }
        try await HTTPClientTests.withClient { client in
            let request = HTTPRequest(try HTTPURL("http://127.0.0.1:\(port)/"))
            #expect(await HTTPClientTests.failure(client, request) == .unreachable("Connection refused"))
            // RFC 6761, 6.4: the name never resolves.
            let unknown = HTTPRequest(try HTTPURL("http://nobody.invalid/"))
            #expect(await HTTPClientTests.failure(client, unknown) == .unreachable("no address of the host is known"))
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308]) func noRequestReachesAnotherHost(_ status: Int) async throws {
        let other = try HTTPPeer { _, _ in .status(200) }
        let place = "http://localhost:\(other.port)/secret"
        let error = try await Self.failure(.status(status, headers: ["Location: \(place)"]))
        #expect(error == .redirectedElsewhere(status: status, to: "http://localhost:\(other.port)"))
        #expect(other.accepted == 0)
        let odd = try await Self.failure(.status(status, headers: ["Location: file:///etc/passwd"]))
        #expect(odd == .redirectedElsewhere(status: status, to: "a place that is no URL of HTTP"))
    }

    @Test func redirectionsWithinTheServerAreFollowed() async throws {
        let peer = try HTTPPeer { request, _ in
            request.target == "/orders/" ? .status(200) : .status(308, headers: ["Location: /orders/"])
        }
        try await HTTPClientTests.withClient { client in
            let request = try HTTPClientTests.request(peer, "/orders", body: "{\"n\":1}")
            #expect(try await client.send(request).status == 200)
        }
        #expect(peer.requests.map(\.target) == ["/orders", "/orders/"])
        #expect(peer.requests.allSatisfy { $0.method == "POST" && $0.body == Array("{\"n\":1}".utf8) })
    }

    @Test func redirectionsWithinTheServerAreLimited() async throws {
        let peer = try HTTPPeer { _, _ in .status(307, headers: ["Location: /again"]) }
        try await HTTPClientTests.withClient { client in
            let error = await HTTPClientTests.failure(client, try HTTPClientTests.request(peer))
            #expect(error == .interrupted("it redirects more than 3 times"))
        }
        #expect(peer.requests.count == 1 + HTTPClient.maximumRedirections)
        // Others would change the method.
        let seen = try HTTPPeer { _, _ in .status(302, headers: ["Location: /other"]) }
        try await HTTPClientTests.withClient { client in
            let request = try HTTPClientTests.request(seen)
            #expect(try await client.send(request).status == 302)
        }
        #expect(seen.requests.count == 1)
    }

    @Test func retryAfterIsThatOfTheLastHead() async throws {
        let head =
            "HTTP/1.1 103 Early\r\nRetry-After: 9\r\n\r\nHTTP/1.1 503 Busy\r\nretry-AFTER:  7 \r\nContent-Length: 0\r\n\r\n"
        let peer = try HTTPPeer { _, earlier in earlier == 0 ? .raw(head, closes: false) : .status(429) }
        try await HTTPClientTests.withClient { client in
            let request = try HTTPClientTests.request(peer)
            #expect(try await client.send(request) == HTTPResponse(status: 503, retryAfter: .seconds(7)))
            #expect(try await client.send(request) == HTTPResponse(status: 429))
        }
    }
}
