import BrokerKit
import Testing

@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct SecurityTests {
    private func place(_ authority: TestAuthority) -> ServerPlace {
        var place = ServerPlace()
        place.identity = .init(certificateFile: authority.certificateFile, keyFile: authority.keyFile)
        return place
    }

    @Test func aTrustedCertificateForTheHostOpensTheConnection() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let server = try await Party.server(.init(echoes: true), place: place(authority), limits: .roomy)
        var client = try await Party.client(limits: .roomy)
        let id = try await client.open(server.transport.port) {
            $0.security = .authority(file: authority.authorityFile)
        }
        let text = [UInt8](repeating: UInt8(ascii: "s"), count: 1 << 20)
        #expect(client.transport.send(text, .text, on: id) == .accepted)
        let message = try await client.message()
        #expect(message == text)
        await client.stop()
        await server.stop()
    }

    @Test func aCertificateForAnotherHostIsRefused() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let server = try await Party.server(place: place(authority))
        var client = try await Party.client()
        let port = server.transport.port
        _ = client.transport.connect(
            to: ClientTarget(
                address: "127.0.0.1",
                port: port,
                host: "other.example:\(port)",
                path: "/",
                security: .authority(file: authority.authorityFile)
            )
        )
        let end = try await client.ended()
        #expect(end == .notSecured("the server's certificate is not trusted: hostname mismatch"))
        await client.stop()
        await server.stop()
    }

    @Test(arguments: [false, true]) func aCertificateThatNobodyTrustedSignedIsRefused(system: Bool) async throws {
        let authority = try await TestAuthority()
        let other = try await TestAuthority()
        defer {
            authority.remove()
            other.remove()
        }
        let server = try await Party.server(place: place(authority))
        var client = try await Party.client()
        _ = client.transport.connect(
            to: .local(server.transport.port) { $0.security = system ? .system : .authority(file: other.authorityFile) }
        )
        let end = try await client.ended()
        #expect(end == .notSecured("the server's certificate is not trusted: unable to get local issuer certificate"))
        await client.stop()
        await server.stop()
    }

    @Test func anExpiredCertificateIsRefused() async throws {
        let authority = try await TestAuthority(serverDays: -1)
        defer { authority.remove() }
        let server = try await Party.server(place: place(authority))
        var client = try await Party.client()
        _ = client.transport.connect(
            to: .local(server.transport.port) { $0.security = .authority(file: authority.authorityFile) }
        )
        let end = try await client.ended()
        #expect(end == .notSecured("the server's certificate is not trusted: certificate has expired"))
        await client.stop()
        await server.stop()
    }

    @Test func whoeverTrustsAnythingConnectsToAnybody() async throws {
        let authority = try await TestAuthority(serverDays: -1)
        defer { authority.remove() }
        let server = try await Party.server(.init(echoes: true), place: place(authority))
        var client = try await Party.client()
        let port = server.transport.port
        let id = client.transport.connect(
            to: ClientTarget(
                address: "127.0.0.1",
                port: port,
                host: "other.example:\(port)",
                path: "/",
                security: .anything
            )
        )
        #expect(try await client.opened().0 == id)
        #expect(client.transport.send(Array("hello".utf8), .text, on: id) == .accepted)
        #expect(try await client.message() == Array("hello".utf8))
        // What one connection believes is not what the next one does.
        _ = client.transport.connect(to: .local(port) { $0.security = .authority(file: authority.authorityFile) })
        let end = try await client.ended()
        #expect(end == .notSecured("the server's certificate is not trusted: certificate has expired"))
        await client.stop()
        await server.stop()
    }

    @Test func whatSpeaksNoTLSIsTold() async throws {
        let server = try await Party.server()
        var client = try await Party.client()
        _ = client.transport.connect(to: .local(server.transport.port) { $0.security = .anything })
        let end = try await client.ended()
        #expect(end == .notSecured("TLS failed: what the server sends is no TLS, or is broken"))
        await client.stop()
        await server.stop()
    }

    @Test func hostsThatTLSCannotVerifyAreNotTried() async throws {
        var client = try await Party.client()
        let long = String(repeating: "a", count: 128)
        for (host, text) in [
            (long, "the host is longer than 119 bytes"),
            ("[::1]:1", "TLS needs a name or an IPv4 address, not [::1]:1"),
        ] {
            _ = client.transport.connect(
                to: ClientTarget(address: "127.0.0.1", port: 1, host: host, path: "/", security: .system)
            )
            let clientEnd = try await client.ended()
            #expect(clientEnd == .unusable(text))
        }
        await client.stop()
    }
}
