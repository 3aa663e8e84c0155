import AdapterSupport
import BrokerKit
import COpenSSL
import SecureTransport
import Testing

/// A link and a server with a relay in between, which can hold back, change or drop the server's bytes.
final class CutPair {
    let link: TLSLink
    let peer: TLSPeer
    /// How many of the server's bytes pass during the handshake before the connection is cut.
    var limit = Int.max
    /// Whether the client has completed its handshake.
    private(set) var isOpen = false
    private let toClient: SocketLink
    private let toServer: SocketLink

    init(_ authority: TestAuthority, version: Int32) throws {
        let (client, relayClient) = try socketPair()
        let (relayServer, server) = try socketPair()
        var options = TLSPeerOptions(authority)
        options.version = version
        peer = try TLSPeer(options, server)
        link = try TLSContext(TLSSettings(.trusting(authority))).makeLink(over: SocketLink(client), host: "localhost")
        toClient = SocketLink(relayClient)
        toServer = SocketLink(relayServer)
    }

    /// Completes the handshake and passes the tickets, so that later bytes of the server are data.
    func open() throws {
        for _ in 0..<100 {
            isOpen = try link.advance()
            if let bytes = try? toClient.read(), !bytes.isEmpty { _ = try? toServer.write(bytes) }
            peer.advance()
            let bytes = takeServerBytes()
            giveClient(bytes.prefix(limit))
            limit -= min(limit, bytes.count)
            if limit == 0 { cut() }
            if isOpen, bytes.isEmpty {
                _ = try link.read()
                return
            }
        }
        Issue.record("the handshake does not end")
    }

    func takeServerBytes() -> [UInt8] { (try? toServer.read()) ?? [] }

    func giveClient(_ bytes: ArraySlice<UInt8>) { _ = try? toClient.write(bytes) }

    func cut() { toClient.finish() }
}
