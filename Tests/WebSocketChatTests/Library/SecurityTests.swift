import BrokerKit
import Foundation
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
        // Trust applies to one connection: the next one checks the certificate.
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

@Suite(.timeLimit(.minutes(10))) struct IdentityTests {
    @Test func aServerThatAsksForACertificateGetsIt() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let identity = try await authority.makeClient()
        let asking = try await AskingServer.start(authority)
        var client = try await Party.client()
        _ = client.transport.connect(
            to: .local(asking.port) { target in
                target.security = .authority(file: authority.authorityFile)
                target.identity = identity
            }
        )
        let request = await asking.read(until: ["GET /chat HTTP/1.1", "\r\n\r\n"])
        #expect(request.contains("CN = client"))
        asking.write("HTTP/1.1 418 I'm a teapot\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        let clientEnd = try await client.ended()
        #expect(clientEnd == .refused(status: 418))
        await client.stop()
        await asking.end()
    }

    @Test func aServerThatAsksInVainIsTold() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let asking = try await AskingServer.start(authority)
        var client = try await Party.client()
        _ = client.transport.connect(
            to: .local(asking.port) { $0.security = .authority(file: authority.authorityFile) }
        )
        let clientEnd = try await client.ended()
        #expect(clientEnd == .notSecured("TLS failed: the server says certificate required"))
        await client.stop()
        await asking.end()
    }

    @Test func filesThatCannotBeUsedAreToldAtOnce() async throws {
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
                "the key in \(authority.keyFile) is not that of \(good.certificateFile)"
            ),
        ]
        var client = try await Party.client()
        for (identity, text) in cases {
            _ = client.transport.connect(
                to: .local(1) { target in
                    target.security = .system
                    target.identity = identity
                }
            )
            let clientEnd = try await client.ended()
            #expect(clientEnd == .notSecured(text))
            var place = ServerPlace()
            place.identity = .init(certificateFile: identity.certificateFile, keyFile: identity.keyFile)
            await #expect(throws: TransportFault(code: .unusableCertificate, description: text)) {
                _ = try await Party.server(place: place)
            }
        }
        await client.stop()
    }

    @Test func authoritiesThatCannotBeUsedAreToldAtOnce() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        var client = try await Party.client()
        for (file, text) in [
            ("/nowhere/ca.pem", "the file of trusted authorities /nowhere/ca.pem cannot be read"),
            (authority.keyFile, "the file of trusted authorities \(authority.keyFile) has no certificate in PEM"),
        ] {
            _ = client.transport.connect(to: .local(1) { $0.security = .authority(file: file) })
            let clientEnd = try await client.ended()
            #expect(clientEnd == .notSecured(text))
        }
        await client.stop()
    }

    @Test func aThreadHasSixtyFourKindsOfTrustAndNoMore() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let deaf = try QuietListener()
        var client = try await Party.client()
        for number in 0...LibraryLoop.virtualHostLimit {
            let copy = authority.path("ca-\(number).pem")
            try FileManager.default.copyItem(atPath: authority.authorityFile, toPath: copy)
            let id = client.transport.connect(to: .local(UInt16(deaf.port)) { $0.security = .authority(file: copy) })
            client.transport.perform(.cut(.normal, reason: ""), on: id)
            let end = try await client.ended()
            if number < LibraryLoop.virtualHostLimit {
                #expect(end == .closedHere(.normal, reason: ""))
            } else {
                #expect(end == .unusable("more than 64 sets of certificates are in use on this thread"))
            }
        }
        await client.stop()
    }

    @Test func theSystemsTrustIsThatOfOpenSSL() async throws {
        await #expect(processExitsWith: .success) {
            let authority = try await TestAuthority()
            defer { authority.remove() }
            setenv("SSL_CERT_FILE", authority.authorityFile, 1)
            var place = ServerPlace()
            place.identity = .init(certificateFile: authority.certificateFile, keyFile: authority.keyFile)
            let server = try await Party.server(place: place, limits: .unhurried)
            var client = try await Party.client()
            _ = try await client.open(server.transport.port) { $0.security = .system }
            await client.stop()
            await server.stop()
        }
    }

    @Test func theEnvironmentsProxyIsNotAsked() async throws {
        await #expect(processExitsWith: .success) {
            setenv("http_proxy", "127.0.0.1:1", 1)
            let server = try await Party.server(limits: .unhurried)
            var client = try await Party.client()
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
            var place = ServerPlace()
            place.identity = .init(certificateFile: authority.certificateFile, keyFile: authority.keyFile)
            let server = try await Party.server(place: place, limits: .unhurried)
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
                let asking = try await AskingServer.start(authority, [version] + TLSVersionTests.ciphers)
                var client = try await Party.client()
                _ = client.transport.connect(
                    to: .local(asking.port) { $0.security = .authority(file: authority.authorityFile) }
                )
                let end = try await client.ended()
                #expect(end == .notSecured("TLS failed: the server says protocol version"), "\(version)")
                await client.stop()
                await asking.end()
            }
        }
    }
}
