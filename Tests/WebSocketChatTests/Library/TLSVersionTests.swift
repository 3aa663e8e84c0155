import BrokerKit
import Foundation
import Testing

@testable import WebSocketChat

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
    // The security level that has ciphers for these versions.
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
                // The server refuses, not the client.
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
