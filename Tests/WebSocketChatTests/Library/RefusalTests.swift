import Foundation
import Testing

@testable import BrokerKit
@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct RefusalTests {
    @Test(arguments: [
        (HTTPRefusal.unauthorized, 401), (.forbidden, 403), (.notFound, 404), (.unavailable, 503),
    ])
    func aRefusalReachesTheClient(decision: HTTPRefusal, status: Int) async throws {
        let server = try await TransportTrial.server(.init(decide: { _ in decision }))
        var client = try await TransportTrial.client()
        _ = client.transport.connect(to: .local(server.transport.port))
        let end = try await client.ended()
        #expect(end == .refused(status: status))
        await client.stop()
        await server.stop()
    }

    @Test func theServerDecidesByTheClientsRequest() async throws {
        let (requests, continuation) = AsyncStream<UpgradeRequest>.makeStream()
        var endpoint = ServerEndpoint()
        endpoint.subprotocols = ["chat.v1", "chat.v2"]
        let server = try await TransportTrial.server(
            .init(decide: { request in
                continuation.yield(request)
                return nil
            }),
            endpoint: endpoint
        )
        var client = try await TransportTrial.client()
        let port = server.transport.port
        let target = ClientTarget.local(port) { target in
            target.subprotocols = ["other", "chat.v2"]
            target.origin = "https://app.example"
            target.headers = [HeaderField("Authorization", "Bearer abc")].compactMap { $0 }
        }
        let id = client.transport.connect(
            to: ClientTarget(
                address: target.address,
                port: port,
                host: target.host,
                path: "/a%20b%20?token=x%26y&empty",
                subprotocols: target.subprotocols,
                origin: target.origin,
                headers: target.headers
            )
        )
        let (opened, handshake) = try await client.opened()
        #expect(opened == id)
        #expect(handshake.subprotocol == "chat.v2")
        var iterator = requests.makeAsyncIterator()
        let request = try #require(await iterator.next())
        #expect(request.path == "/a b ")
        #expect(request.query == ["token=x&y", "empty"])
        #expect(request.queryValue("token") == "x&y")
        #expect(request.host == "localhost:\(port)")
        #expect(request.origin == "https://app.example")
        #expect(request.authorization == "Bearer abc")
        #expect(request.subprotocols == ["other", "chat.v2"])
        #expect(request.peerAddress == "127.0.0.1")
        #expect(!request.isSecure)
        await client.stop()
        await server.stop()
    }

    @Test func aClosedPortIsReportedAsUnreachable() async throws {
        let (socket, port) = try LoopbackPort.refusing()
        defer { close(socket) }
        var client = try await TransportTrial.client()
        _ = client.transport.connect(to: .local(port))
        let end = try await client.ended()
        guard case .unreachable = end else {
            Issue.record("\(end)")
            return
        }
        await client.stop()
    }

    @Test func anUnansweredHandshakeTimesOut() async throws {
        let silent = try QuietListener()
        var limits = TransportLimits()
        limits.connectWithin = 10
        var client = try await TransportTrial.client(limits: limits)
        _ = client.transport.connect(to: .local(UInt16(silent.port)))
        let end = try await client.ended()
        guard case .upgradeFailed = end else {
            Issue.record("\(end)")
            return
        }
        await client.stop()
    }

    @Test func aTLSClientReportsAPlainServer() async throws {
        var client = try await TransportTrial.client()
        var endpoint = ServerEndpoint()
        endpoint.pages = ["/chat": WebSocketPage(contentType: "text/plain", body: [])]
        let server = try await TransportTrial.server(.init(decide: { _ in .notFound }), endpoint: endpoint)
        _ = client.transport.connect(to: .local(server.transport.port) { $0.secure(.system) })
        let end = try await client.ended()
        #expect(end == .handshakeEnded)
        await client.stop()
        await server.stop()
    }

    @Test(arguments: [false, true]) func aServerThatEndsTheTLSHandshakeIsReported(_ resets: Bool) async throws {
        let host = try #require(RawHost())
        var client = try await TransportTrial.client()
        _ = client.transport.connect(to: .local(host.port) { $0.secure(.system) })
        let server = try #require(await host.accept())
        // The handshake is in progress.
        _ = await server.read { !$0.isEmpty }
        if resets { server.reset() } else { server.finish() }
        let end = try await client.ended()
        #expect(end == .handshakeEnded)
        await client.stop()
    }

    @Test func hostNamesAndInvalidTargetsAreRefused() async throws {
        var client = try await TransportTrial.client()
        _ = client.transport.connect(to: ClientTarget(address: "localhost", port: 1, host: "localhost", path: "/"))
        let name = try await client.ended()
        #expect(name == .notResolved("localhost is not a numeric address"))
        _ = client.transport.connect(to: ClientTarget(address: "127.0.0.1", port: 1, host: "a\r\nb: c", path: "/"))
        let host = try await client.ended()
        #expect(host == .invalidTarget("the host is empty or has forbidden characters"))
        await client.stop()
        #expect(HeaderField("a", "b\r\nc: d") == nil)
    }

    @Test func aPortInUseIsReportedImmediately() async throws {
        let server = try await TransportTrial.server()
        var endpoint = ServerEndpoint()
        endpoint.port = server.transport.port
        do {
            _ = try await TransportTrial.server(endpoint: endpoint)
            Issue.record("two servers listen on the same port")
        } catch let error as TransportError {
            #expect(error.code == .notListening)
        }
        await server.stop()
    }
}
