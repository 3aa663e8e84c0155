import BrokerKit
import Foundation
import Testing

@testable import WebSocketChat

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
