import BrokerKit
import SecureTransport
import Testing

@testable import HTTPClient

/// Requests over TLS.
@Suite(.timeLimit(.minutes(5))) struct HTTPSecurityTests {
    private static func with(
        clients: Bool = false,
        _ test: (TestAuthority, HTTPPeer) async throws -> Void
    ) async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let required = clients ? authority.authorityFile : nil
        let peer = try HTTPPeer(secured: { TLSStream(authority, clientAuthority: required, $0) }) { _, _ in .status(200)
        }
        try await test(authority, peer)
    }

    private static func failure(
        _ security: HTTPSecurity,
        _ peer: HTTPPeer,
        host: String = "localhost"
    ) async throws -> HTTPClientError? {
        var found: HTTPClientError?
        try await HTTPClientTests.withClient(security) { client in
            let url = try HTTPURL("https://\(host):\(peer.port)/")
            found = await HTTPClientTests.failure(client, HTTPRequest(url))
        }
        return found
    }

    private static func isInsecure(_ error: HTTPClientError?) -> Bool {
        if case .insecure = error { true } else { false }
    }

    @Test func onlyTheAuthorityIsTrusted() async throws {
        try await Self.with { authority, peer in
            let own = HTTPSecurity(trust: .authority(file: authority.authorityFile))
            #expect(try await Self.failure(own, peer) == nil)
            #expect(peer.requests.count == 1)
            #expect(Self.isInsecure(try await Self.failure(own, peer, host: "127.0.0.1")))
            #expect(Self.isInsecure(try await Self.failure(HTTPSecurity(), peer)))
            let other = try await TestAuthority()
            defer { other.remove() }
            #expect(
                Self.isInsecure(
                    try await Self.failure(HTTPSecurity(trust: .authority(file: other.authorityFile)), peer)
                )
            )
            let missing = HTTPSecurity(trust: .authority(file: "/nowhere/ca.pem"))
            #expect(Self.isInsecure(try await Self.failure(missing, peer)))
            #expect(peer.requests.count == 1)
            #expect(try await Self.failure(HTTPSecurity(trust: .insecure), peer, host: "127.0.0.1") == nil)
        }
    }

    @Test func theClientShowsItsCertificate() async throws {
        try await Self.with(clients: true) { authority, peer in
            try await authority.makeClientFiles()
            var security = HTTPSecurity(trust: .authority(file: authority.authorityFile))
            #expect(try await Self.failure(security, peer) != nil)
            security.identity = TLSSettings.Identity(
                certificateFile: authority.path("client.pem"),
                keyFile: authority.path("client.key")
            )
            #expect(try await Self.failure(security, peer) == nil)
            // A key with a passphrase must not make the library ask at the terminal.
            security.identity?.keyFile = authority.path("locked.key")
            #expect(Self.isInsecure(try await Self.failure(security, peer)))
            #expect(peer.requests.count == 1)
        }
    }

    @Test func connectionsOfAServerAreReused() async throws {
        try await Self.with { authority, peer in
            try await HTTPClientTests.withClient(HTTPSecurity(trust: .authority(file: authority.authorityFile))) {
                client in
                let request = HTTPRequest(try HTTPURL("https://localhost:\(peer.port)/"))
                for _ in 0..<5 { #expect(try await client.send(request).status == 200) }
            }
            #expect(peer.accepted == 1)
        }
    }

    @Test func aServerWithoutTLSIsRefused() async throws {
        let peer = try HTTPPeer(secured: { _ in nil }) { _, _ in .status(200) }
        #expect(Self.isInsecure(try await Self.failure(HTTPSecurity(trust: .insecure), peer)))
        #expect(peer.requests.isEmpty)
    }
}
