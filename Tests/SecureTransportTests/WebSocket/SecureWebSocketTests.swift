import AdapterSupport
import BrokerKit
import COpenSSL
import SignalboxCore
import Testing

@testable import SecureTransport

/// A WebSocket over TLS, and how a destination leads to one.
@Suite(.timeLimit(.minutes(1)))
struct SecureWebSocketTests {
    private let wake: WakeSignal

    init() throws {
        wake = try WakeSignal()
    }

    /// Opens a WebSocket whose server is a TLS peer.
    private func opened(_ authority: TestAuthority, bufferBytes: Int32? = nil) throws -> (WebSocketLink, TLSPeer) {
        let settings = TLSSettings(.trusting(authority))
        let pair = try TLSPair(TLSPeerOptions(authority), settings, bufferBytes: bufferBytes)
        let link = WebSocketLink(over: pair.link, try WebSocketUpgrade(Upgrade.request()))
        var request: [UInt8] = []
        for _ in 0..<100 {
            if try link.advance() { return (link, pair.peer) }
            pair.peer.advance()
            request += pair.peer.read()
            guard request.suffix(4).elementsEqual("\r\n\r\n".utf8) else { continue }
            let answer = try Upgrade.answer(to: request)
            #expect(pair.peer.write(answer, recordsOf: 50) == answer.count)
            request = []
        }
        throw LinkError.timeout
    }

    @Test func framesArriveWhateverTheRecords() async throws {
        try await withAuthority { authority in
            let (link, peer) = try opened(authority)
            let stream = (0..<40).flatMap { ServerFrame.encoded(2, pattern($0 * 10)) }
            let expected = (0..<40).flatMap { pattern($0 * 10) }
            for size in [1, 7, 300, 16_384] {
                var result: [UInt8] = []
                for start in stride(from: 0, to: stream.count, by: 200) {
                    let part = Array(stream[start...].prefix(200))
                    #expect(peer.write(part, recordsOf: size) == part.count)
                    while link.mayHaveMore || link.isReadable { result += try link.read(100) }
                }
                #expect(result == expected)
            }
        }
    }

    @Test func blockedFramesContinue() async throws {
        try await withAuthority { authority in
            let (link, peer) = try opened(authority, bufferBytes: 20_000)
            let bytes = pattern(400_000)
            var (written, received, frames): (Int, [UInt8], [ClientFrame]) = (0, [], [])
            for turn in 0..<10_000 where written < bytes.count || frames.isEmpty {
                if turn == 3 { peer.write(ServerFrame.encoded(9, [1, 2, 3]), recordsOf: 10) }
                _ = try link.read()
                written += try link.write(bytes[written...])
                received += peer.read()
                if written == bytes.count { frames = try ClientFrame.take(from: &received) }
            }
            #expect(frames.filter { $0.opcode == 2 }.flatMap(\.content) == bytes)
            #expect(frames.filter { $0.opcode == 10 }.map(\.content) == [[1, 2, 3]])
        }
    }

    @Test func theEndIsThatOfBothLayers() async throws {
        try await withAuthority { authority in
            let (link, peer) = try opened(authority)
            link.finish()
            #expect(try ClientFrame.all(in: peer.read()).map(\.opcode) == [8])
            #expect(peer.readError() == SSL_ERROR_ZERO_RETURN)
            peer.write(ServerFrame.close(1000), recordsOf: 10)
            #expect(throws: LinkError.closed) { try link.read() }
            let (cut, other) = try opened(authority)
            other.write([0x82, 9, 1], recordsOf: 10)
            #expect(try cut.read() == [1])
            SSL_shutdown(other.connection)
            #expect(throws: LinkError.reset("the connection ended in the middle of a WebSocket message")) {
                try cut.read()
            }
        }
    }

    // MARK: - Destinations

    private func open(_ destination: Destination) throws -> (any Link)? {
        try Dialer.open(destination, wake: wake, isStopping: { false }, until: .now + .seconds(10)) {
            _ throws(LookupFailure) in throw LookupFailure("not expected")
        }
    }

    @Test func aDestinationLeadsToAWebSocket() throws {
        let listener = try Listener()
        let upgrade = try WebSocketUpgrade(Upgrade.request([.init("X", .text("y"))]))
        let found = try open(Destination(.tcp(host: "127.0.0.1", port: listener.port), webSocket: upgrade))
        let link = try #require(found)
        #expect(try link is WebSocketLink && !link.advance())
        let server = SocketLink(try listener.accept())
        _ = SocketWait(socket: server.descriptor, for: .readable, wake: -1, limit: .seconds(5))
        let answer = try Upgrade.answer(to: try server.read())
        _ = try server.write(answer + ServerFrame.encoded(2, [1, 2]))
        _ = SocketWait(socket: link.descriptor, for: .readable, wake: -1, limit: .seconds(5))
        #expect(try link.advance() && link.mayHaveMore)
        #expect(try link.read() == [1, 2])
    }

    @Test func secretsAreReadBeforeAnythingIsConnected() throws {
        let request = try Upgrade.request([.init("X", .file("/nonexistent"))])
        let error = try #require(throws: UpgradeProblem.self) { try WebSocketUpgrade(request) }
        guard case .secretUnavailable(let reason) = error else { throw error }
        #expect(reason.hasPrefix("the file /nonexistent cannot be read"))
    }
}
