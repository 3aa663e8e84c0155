import BrokerKit
import SignalboxCore
import Testing

@testable import HTTPClient

/// Requests over sockets of this machine.
@Suite(.timeLimit(.minutes(5))) struct HTTPClientTests {
    /// Runs the test with a client, which is stopped afterwards.
    static func withClient(
        _ security: HTTPSecurity = HTTPSecurity(),
        idleLimit: Duration = .seconds(60),
        _ test: (HTTPClient) async throws -> Void
    ) async throws {
        let client = HTTPClient(security, idleLimit: idleLimit)
        do { try await test(client) } catch {
            await client.stop()
            throw error
        }
        await client.stop()
    }

    static func request(_ peer: HTTPPeer, _ target: String = "/orders?a=1", body: String = "{}") throws -> HTTPRequest {
        var request = HTTPRequest(try HTTPURL("http://127.0.0.1:\(peer.port)\(target)"), body: Array(body.utf8))
        // Other tests may keep this one's tasks from running for a while.
        request.timeout = .seconds(300)
        return request
    }

    /// Returns the error of a request.
    static func failure(_ client: HTTPClient, _ request: HTTPRequest) async -> HTTPClientError? {
        do throws(HTTPClientError) {
            _ = try await client.send(request)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: HTTPRequest.Method.allCases) func aRequestArrivesAsGiven(_ method: HTTPRequest.Method) async throws
    {
        let peer = try HTTPPeer { request, _ in .status(200, String(decoding: request.body.reversed(), as: UTF8.self)) }
        try await Self.withClient { client in
            var request = try Self.request(peer, body: "{\"n\":1}")
            request.method = method
            request.headers = [
                try #require(HTTPHeader("Content-Type", "application/json")), try #require(HTTPHeader("X-Kind", "a b")),
            ]
            let response = try await client.send(request)
            #expect(response == HTTPResponse(status: 200, body: Array("}1:\"n\"{".utf8)))
        }
        let received = try #require(peer.requests.first)
        #expect(received.method == method.rawValue && received.target == "/orders?a=1")
        #expect(received.values("host") == ["127.0.0.1:\(peer.port)"])
        #expect(received.values("content-type") == ["application/json"] && received.values("x-kind") == ["a b"])
        #expect(received.values("user-agent") == ["signalbox"] && received.values("expect").isEmpty)
        #expect(received.values("cookie").isEmpty && received.values("authorization").isEmpty)
    }

    @Test func bodiesAreSentWhole() async throws {
        let peer = try HTTPPeer { request, _ in .status(200, "\(request.body.count)") }
        try await Self.withClient { client in
            for size in [0, 1, 3_000_000] {
                let request = try Self.request(peer, body: String(repeating: "a", count: size))
                #expect(try await client.send(request).body == Array("\(size)".utf8))
            }
        }
        #expect(peer.requests.allSatisfy { $0.values("content-type").isEmpty })
    }

    @Test func connectionsAreReused() async throws {
        let peer = try HTTPPeer { _, _ in .status(204) }
        try await Self.withClient { client in
            let request = try Self.request(peer)
            for _ in 0..<20 { #expect(try await client.send(request).status == 204) }
        }
        #expect(peer.requests.count == 20 && peer.accepted == 1)
    }

    @Test func concurrentRequestsShareALimitedNumberOfConnections() async throws {
        let peer = try HTTPPeer { _, _ in .status(200, "ok") }
        try await Self.withClient { client in
            let request = try Self.request(peer)
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<200 { group.addTask { try await client.send(request).status } }
                for try await status in group { #expect(status == 200) }
            }
        }
        #expect(peer.requests.count == 200)
        #expect((1...TransferLoop.connectionsPerHost).contains(peer.accepted))
    }

    @Test func anIdleClientClosesItsConnectionsAndStartsAgain() async throws {
        let peer = try HTTPPeer { _, _ in .status(200) }
        try await Self.withClient(idleLimit: .milliseconds(1)) { client in
            _ = try await client.send(Self.request(peer))
            await peer.untilEnded(1)
            _ = try await client.send(Self.request(peer))
        }
        #expect(peer.accepted == 2)
    }

    @Test func aClosedConnectionIsReplaced() async throws {
        let peer = try HTTPPeer { _, _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
        try await Self.withClient { client in
            for count in 1...3 {
                _ = try await client.send(Self.request(peer))
                await peer.untilEnded(count)
            }
        }
        #expect(peer.requests.count == 3)
    }

    @Test func cancellationClosesTheConnection() async throws {
        let peer = try HTTPPeer { _, _ in .silence }
        try await Self.withClient { client in
            let request = try Self.request(peer)
            let task = Task { await Self.failure(client, request) }
            _ = await peer.requests(1)
            task.cancel()
            #expect(await task.value == .cancelled)
            await peer.untilEnded(1)
            let late = Task { await Self.failure(client, request) }
            late.cancel()
            #expect(await late.value == .cancelled)
        }
    }

    @Test func aStoppedClientFailsItsRequestsAndRefusesMore() async throws {
        let peer = try HTTPPeer { _, _ in .silence }
        let client = HTTPClient()
        let request = try Self.request(peer)
        let task = Task { await Self.failure(client, request) }
        _ = await peer.requests(1)
        await client.stop()
        #expect(await task.value == .stopped)
        await peer.untilEnded(1)
        #expect(await Self.failure(client, request) == .stopped)
        await client.stop()
    }

    @Test func requestsBeyondTheLimitAreRefused() async throws {
        let peer = try HTTPPeer { _, _ in .silence }
        try await Self.withClient { client in
            let request = try Self.request(peer)
            let errors = await withTaskGroup(of: HTTPClientError?.self) { group in
                for _ in 0...HTTPClient.maximumRequests { group.addTask { await Self.failure(client, request) } }
                // All others wait for the server, and so only the refusal can be first.
                let first = await group.next()
                group.cancelAll()
                return await group.reduce(into: [first ?? nil]) { $0.append($1) }
            }
            #expect(errors.first == .full)
            #expect(errors.dropFirst().allSatisfy { $0 == .cancelled })
        }
    }
}
