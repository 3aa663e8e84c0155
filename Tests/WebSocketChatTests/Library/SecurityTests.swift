import BrokerKit
import Foundation
import SecureTransport
import Testing

@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct SecurityTests {
    private func endpoint(_ authority: TestAuthority) -> ServerEndpoint {
        var endpoint = ServerEndpoint()
        endpoint.identity = .init(certificateFile: authority.certificateFile, keyFile: authority.keyFile)
        return endpoint
    }

    @Test func aTrustedCertificateForTheHostOpensTheConnection() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let server = try await TransportTrial.server(.init(echoes: true), endpoint: endpoint(authority), limits: .roomy)
        var client = try await TransportTrial.client(limits: .roomy)
        let id = try await client.open(server.transport.port) {
            $0.secure(.authority(file: authority.authorityFile))
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
        let server = try await TransportTrial.server(endpoint: endpoint(authority))
        var client = try await TransportTrial.client()
        let port = server.transport.port
        var target = ClientTarget(address: "127.0.0.1", port: port, host: "other.example:\(port)", path: "/")
        target.secure(.authority(file: authority.authorityFile))
        _ = client.transport.connect(to: target)
        let end = try await client.ended()
        #expect(end == .tlsFailed("the server's certificate is not trusted: hostname mismatch"))
        await client.stop()
        await server.stop()
    }

    @Test(arguments: [false, true]) func aCertificateOfAnUntrustedAuthorityIsRefused(system: Bool) async throws {
        let authority = try await TestAuthority()
        let other = try await TestAuthority()
        defer {
            authority.remove()
            other.remove()
        }
        let server = try await TransportTrial.server(endpoint: endpoint(authority))
        var client = try await TransportTrial.client()
        _ = client.transport.connect(
            to: .local(server.transport.port) { $0.secure(system ? .system : .authority(file: other.authorityFile)) }
        )
        let end = try await client.ended()
        #expect(end == .tlsFailed("the server's certificate is not trusted: unable to get local issuer certificate"))
        await client.stop()
        await server.stop()
    }

    @Test func anExpiredCertificateIsRefused() async throws {
        let authority = try await TestAuthority(serverDays: -1)
        defer { authority.remove() }
        let server = try await TransportTrial.server(endpoint: endpoint(authority))
        var client = try await TransportTrial.client()
        _ = client.transport.connect(
            to: .local(server.transport.port) { $0.secure(.authority(file: authority.authorityFile)) }
        )
        let end = try await client.ended()
        #expect(end == .tlsFailed("the server's certificate is not trusted: certificate has expired"))
        await client.stop()
        await server.stop()
    }

    @Test func trustingAnythingAcceptsEveryCertificate() async throws {
        let authority = try await TestAuthority(serverDays: -1)
        defer { authority.remove() }
        let server = try await TransportTrial.server(.init(echoes: true), endpoint: endpoint(authority))
        var client = try await TransportTrial.client()
        let port = server.transport.port
        var target = ClientTarget(address: "127.0.0.1", port: port, host: "other.example:\(port)", path: "/")
        target.secure(.anything)
        let id = client.transport.connect(to: target)
        #expect(try await client.opened().0 == id)
        #expect(client.transport.send(Array("hello".utf8), .text, on: id) == .accepted)
        #expect(try await client.message() == Array("hello".utf8))
        // Trust applies to one connection: the next one checks the certificate.
        _ = client.transport.connect(to: .local(port) { $0.secure(.authority(file: authority.authorityFile)) })
        let end = try await client.ended()
        #expect(end == .tlsFailed("the server's certificate is not trusted: certificate has expired"))
        await client.stop()
        await server.stop()
    }

    @Test func aServerWithoutTLSIsReported() async throws {
        let server = try await TransportTrial.server()
        var client = try await TransportTrial.client()
        _ = client.transport.connect(to: .local(server.transport.port) { $0.secure(.anything) })
        let end = try await client.ended()
        #expect(end == .handshakeEnded)
        await client.stop()
        await server.stop()
    }

    @Test func theCertificateMustBeForTheHostWithoutItsPort() {
        for (host, name) in [
            ("app.example", "app.example"), ("app.example:8443", "app.example"), ("127.0.0.1:1", "127.0.0.1"),
            ("[::1]:1", "::1"), ("[2001:db8::7]", "2001:db8::7"),
        ] {
            #expect(ClientTarget(address: "::1", port: 1, host: host, path: "/").serverName == name)
        }
    }

    @Test func aLongHostIsRefused() async throws {
        var client = try await TransportTrial.client()
        let host = String(repeating: "a", count: ClientTarget.hostLimit + 1)
        _ = client.transport.connect(to: ClientTarget(address: "127.0.0.1", port: 1, host: host, path: "/"))
        let end = try await client.ended()
        #expect(end == .invalidTarget("the host is longer than \(ClientTarget.hostLimit) bytes"))
        await client.stop()
    }
}

@Suite(.timeLimit(.minutes(10))) struct IdentityTests {
    @Test func aRequestedClientCertificateIsPresented() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let identity = try await authority.makeClient()
        let openSSL = try await OpenSSLServer.start(authority)
        var client = try await TransportTrial.client()
        _ = client.transport.connect(
            to: .local(openSSL.port) { $0.secure(.authority(file: authority.authorityFile), identity) }
        )
        let request = await openSSL.read(until: ["GET /chat HTTP/1.1", "\r\n\r\n"])
        #expect(request.contains("CN = client"))
        openSSL.write("HTTP/1.1 418 I'm a teapot\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        let clientEnd = try await client.ended()
        #expect(clientEnd == .refused(status: 418))
        await client.stop()
        await openSSL.end()
    }

    @Test func aMissingClientCertificateIsReported() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let openSSL = try await OpenSSLServer.start(authority)
        var client = try await TransportTrial.client()
        _ = client.transport.connect(
            to: .local(openSSL.port) { $0.secure(.authority(file: authority.authorityFile)) }
        )
        let clientEnd = try await client.ended()
        #expect(clientEnd == .tlsFailed("the server sent the alert certificate required"))
        await client.stop()
        await openSSL.end()
    }

    @Test func unusableIdentityFilesAreReportedImmediately() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let good = try await authority.makeClient()
        let missing = authority.path("missing.pem")
        let cases: [(WebSocketIdentity, String)] = [
            (.init(certificateFile: missing, keyFile: good.keyFile), "the certificate file \(missing) cannot be read"),
            (
                .init(certificateFile: good.keyFile, keyFile: good.keyFile),
                "\(good.keyFile) has no certificate in PEM"
            ),
            (.init(certificateFile: good.certificateFile, keyFile: missing), "the key file \(missing) cannot be read"),
            (
                .init(certificateFile: good.certificateFile, keyFile: authority.path("locked.key")),
                "\(authority.path("locked.key")) has no private key in PEM, or it has a passphrase"
            ),
            (
                .init(certificateFile: good.certificateFile, keyFile: authority.keyFile),
                "the key in \(authority.keyFile) does not match the certificate in \(good.certificateFile)"
            ),
        ]
        for (identity, text) in cases {
            #expect(throws: DisconnectReason.tlsFailed(text)) { try TLSContext(.system, identity) }
            var endpoint = ServerEndpoint()
            endpoint.identity = .init(certificateFile: identity.certificateFile, keyFile: identity.keyFile)
            await #expect(throws: TransportError(code: .unusableCertificate, description: text)) {
                _ = try await TransportTrial.server(endpoint: endpoint)
            }
        }
    }

    @Test func unusableAuthorityFilesAreReportedImmediately() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        for (file, text) in [
            ("/nowhere/ca.pem", "the file of trusted authorities /nowhere/ca.pem cannot be read"),
            (authority.keyFile, "the file of trusted authorities \(authority.keyFile) has no certificate in PEM"),
        ] {
            #expect(throws: DisconnectReason.tlsFailed(text)) { try TLSContext(.authority(file: file), nil) }
        }
    }

    @Test func systemTrustUsesOpenSSLsAuthorities() async throws {
        await #expect(processExitsWith: .success) {
            let authority = try await TestAuthority()
            defer { authority.remove() }
            setenv("SSL_CERT_FILE", authority.authorityFile, 1)
            var endpoint = ServerEndpoint()
            endpoint.identity = .init(certificateFile: authority.certificateFile, keyFile: authority.keyFile)
            let server = try await TransportTrial.server(endpoint: endpoint, limits: .unhurried)
            var client = try await TransportTrial.client()
            _ = try await client.open(server.transport.port) { $0.secure(.system) }
            await client.stop()
            await server.stop()
        }
    }

    @Test func theEnvironmentsProxyIsIgnored() async throws {
        await #expect(processExitsWith: .success) {
            setenv("http_proxy", "127.0.0.1:1", 1)
            let server = try await TransportTrial.server(limits: .unhurried)
            var client = try await TransportTrial.client()
            _ = try await client.open(server.transport.port)
            await client.stop()
            await server.stop()
        }
    }
}

/// TLS 1.0 and 1.1 are refused (RFC 8996), even if the system's OpenSSL configuration allows them. Each test runs in a
/// separate process, as OpenSSL reads its configuration once.
@Suite(.timeLimit(.minutes(10))) struct TLSVersionTests {
    private static let configuration = """
        openssl_conf = main
        [main]
        ssl_conf = tls
        [tls]
        system_default = defaults
        [defaults]
        MinProtocol = TLSv1
        CipherString = DEFAULT@SECLEVEL=0

        """
    // The security level with ciphers for these versions.
    private static let ciphers = ["-cipher", "DEFAULT@SECLEVEL=0"]

    /// Must be called before the process uses OpenSSL.
    private static func allowOldVersions(_ authority: TestAuthority) throws {
        let file = authority.path("openssl.cnf")
        try Data(configuration.utf8).write(to: URL(fileURLWithPath: file))
        try #require(setenv("OPENSSL_CONF", file, 1) == 0)
    }

    @Test func aServerRefusesVersionsBefore12() async {
        await #expect(processExitsWith: .success) {
            let authority = try await TestAuthority()
            defer { authority.remove() }
            try TLSVersionTests.allowOldVersions(authority)
            var endpoint = ServerEndpoint()
            endpoint.identity = .init(certificateFile: authority.certificateFile, keyFile: authority.keyFile)
            let server = try await TransportTrial.server(endpoint: endpoint, limits: .unhurried)
            let address = "127.0.0.1:\(server.transport.port)"
            for (version, isAccepted) in [("-tls1", false), ("-tls1_1", false), ("-tls1_2", true)] {
                let errors = URL(fileURLWithPath: authority.path("errors\(version)"))
                let status = try await RunningProgram(
                    "openssl",
                    ["s_client", "-connect", address, version] + TLSVersionTests.ciphers,
                    errors: errors
                ).status()
                let text = try String(contentsOf: errors, encoding: .utf8)
                #expect((status == 0) == isAccepted, "\(version): \(text)")
                // The server refuses the version, not the client.
                #expect(text.contains("alert protocol version") == !isAccepted, "\(version): \(text)")
            }
            await server.stop()
        }
    }

    @Test func aClientRefusesVersionsBefore12() async {
        await #expect(processExitsWith: .success) {
            let authority = try await TestAuthority()
            defer { authority.remove() }
            try TLSVersionTests.allowOldVersions(authority)
            for version in ["-tls1", "-tls1_1"] {
                let openSSL = try await OpenSSLServer.start(authority, [version] + TLSVersionTests.ciphers)
                var client = try await TransportTrial.client()
                _ = client.transport.connect(
                    to: .local(openSSL.port) { $0.secure(.authority(file: authority.authorityFile)) }
                )
                let end = try await client.ended()
                #expect(end == .tlsFailed("the server sent the alert protocol version"), "\(version)")
                await client.stop()
                await openSSL.end()
            }
        }
    }
}
