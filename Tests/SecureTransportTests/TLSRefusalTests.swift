import AdapterSupport
import BrokerKit
import COpenSSL
import SecureTransport
import SignalboxCore
import Testing

/// Why a TLS connection is refused, by either side.
@Suite(.timeLimit(.minutes(2)))
struct TLSRefusalTests {
    /// Returns the problem of a handshake that must fail, or of the first write after it.
    private func problem(
        _ options: TLSPeerOptions,
        _ settings: TLSSettings,
        host: String = "localhost"
    ) throws -> TLSProblem {
        let pair = try TLSPair(options, settings, host: host)
        let error = try #require(throws: LinkError.self) {
            try pair.open()
            for _ in 0..<100 { _ = try pair.link.write(pattern(10)) }
        }
        #expect(throws: error) { try pair.link.advance() }
        guard case .tls(let problem) = error else { throw error }
        return problem
    }

    private func problem(of settings: TLSSettings) throws -> TLSProblem {
        try #require(throws: TLSProblem.self) { try TLSContext(settings) }
    }

    // MARK: - The server's certificate

    @Test func anotherAuthorityIsNotTrusted() async throws {
        try await withAuthority { authority in
            try await withAuthority { other in
                let options = TLSPeerOptions(authority)
                for trust in [TLSSettings.Trust.authority(file: other.authorityFile), .system] {
                    let problem = try problem(options, TLSSettings(.certificates(trust)))
                    guard case .untrustedCertificate(let reason) = problem else { throw problem }
                    #expect(!reason.isEmpty && problem.needsReconfiguration)
                }
            }
        }
    }

    @Test func aCertificateForAnotherHostIsNotTrusted() async throws {
        try await withAuthority { authority in
            let reasons = ["example.org": "hostname mismatch", "127.0.0.1": "IP address mismatch"]
            for (host, reason) in reasons {
                let problem = try problem(TLSPeerOptions(authority), TLSSettings(.trusting(authority)), host: host)
                #expect(problem == .wrongHost(reason: reason))
            }
        }
    }

    @Test func anExpiredCertificateIsNotTrusted() async throws {
        try await withAuthority(serverDays: -1) { authority in
            let problem = try problem(TLSPeerOptions(authority), TLSSettings(.trusting(authority)))
            #expect(problem == .expiredCertificate(reason: "certificate has expired"))
        }
    }

    @Test func insecureTrustsAnyCertificate() async throws {
        try await withAuthority(serverDays: -1) { authority in
            let settings = TLSSettings(.certificates(.insecure))
            let pair = try TLSPair(TLSPeerOptions(authority), settings, host: "127.0.0.1")
            try pair.open()
            #expect(pair.link.certificateRequest == nil)
        }
    }

    // MARK: - The client's certificate

    @Test(arguments: TLSLinkTests.versions)
    func aMissingClientCertificateIsReported(version: Int32) async throws {
        try await withAuthority { authority in
            var options = TLSPeerOptions(authority)
            options.version = version
            options.clientAuthority = authority.authorityFile
            let alert = TLSAlert(version == TLS1_2_VERSION ? 40 : 116)
            let problem = try problem(options, TLSSettings(.trusting(authority)))
            #expect(problem == .certificateRequired(alert) && problem.needsReconfiguration)
        }
    }

    @Test(arguments: TLSLinkTests.versions)
    func aRefusedClientCertificateIsReported(version: Int32) async throws {
        try await withAuthority { authority in
            try await withAuthority { other in
                try await other.makeClientFiles("stranger")
                var options = TLSPeerOptions(authority)
                options.version = version
                options.clientAuthority = authority.authorityFile
                let problem = try problem(options, TLSSettings(.trusting(authority, other.identity("stranger"))))
                // Both authorities have one name, so the server finds its own and a signature that is not its own.
                #expect(problem == .certificateRefused(TLSAlert(51)))
                #expect("\(TLSAlert(51))" == "decrypt error, alert 51")
            }
        }
    }

    @Test(arguments: TLSLinkTests.versions)
    func aClientCertificateIsPresented(version: Int32) async throws {
        try await withAuthority { authority in
            try await authority.makeClientFiles("kiosk")
            var options = TLSPeerOptions(authority)
            options.version = version
            options.clientAuthority = authority.authorityFile
            let pair = try TLSPair(options, TLSSettings(.trusting(authority, authority.identity("kiosk"))))
            try pair.open()
            #expect(try pair.link.write([7]) == 1)
            #expect(pair.peer.read() == [7])
            #expect(pair.link.certificateRequest == .answered)
        }
    }

    /// A restarting server does this, so it does not discredit the certificate.
    @Test func aCloseAfterTheHandshakeIsNoRefusal() async throws {
        try await withAuthority { authority in
            var options = TLSPeerOptions(authority)
            options.clientAuthority = authority.authorityFile
            let sockets = try socketPair()
            let context = try TLSContext(TLSSettings(.trusting(authority)))
            let link = try context.makeLink(over: SocketLink(sockets.client), host: "localhost")
            let peer = try TLSPeer(options, sockets.server)
            while try !link.advance() { peer.advance() }
            SocketLink(sockets.server).finish()
            #expect(throws: LinkError.reset("the connection ended without close_notify")) { try link.write([1]) }
            #expect(link.certificateRequest == .unanswered)
        }
    }

    // MARK: - Pre-shared keys

    private func shared(_ key: String, _ identity: String = TLSPeer.identity, allowsShort: Bool = false) -> TLSSettings
    {
        TLSSettings(.preSharedKey(identity: identity, key: .text(key), allowsShort: allowsShort))
    }

    @Test(arguments: TLSLinkTests.versions)
    func aPreSharedKeyOpensTheConnection(version: Int32) throws {
        var options = TLSPeerOptions()
        options.version = version
        options.hasPreSharedKey = true
        let pair = try TLSPair(options, shared(TLSPeer.keyText))
        try pair.open()
        #expect(try pair.link.write([1, 2]) == 2)
        #expect(pair.peer.read() == [1, 2])
    }

    @Test(arguments: TLSLinkTests.versions)
    func aWrongKeyOrIdentityIsRefused(version: Int32) throws {
        var options = TLSPeerOptions()
        options.version = version
        options.hasPreSharedKey = true
        let settings = [shared("00" + TLSPeer.keyText), shared(TLSPeer.keyText, "unknown")]
        for settings in settings {
            let problem = try problem(options, settings)
            guard case .preSharedKeyRefused = problem else { throw problem }
            #expect(problem.needsReconfiguration)
        }
    }

    @Test func aCertificateDoesNotReplaceThePreSharedKey() async throws {
        try await withAuthority { authority in
            let problem = try problem(TLSPeerOptions(authority), shared(TLSPeer.keyText))
            #expect(problem == .certificateInsteadOfKey)
        }
    }

    @Test func anUnusableKeyIsNotSent() throws {
        #expect(try problem(of: shared("no digits")) == .invalidPreSharedKey(.text("no digits")))
        let short = String(repeating: "ab", count: 15)
        #expect(try problem(of: shared(short)) == .shortPreSharedKey(.text(short), bytes: 15))
        _ = try TLSContext(shared(short, allowsShort: true))
        let missing = TLSSettings(.preSharedKey(identity: "kiosk", key: .file("/nonexistent/key")))
        let problem = try problem(of: missing)
        guard case .secretUnavailable(let text) = problem else { throw problem }
        #expect(text.contains("/nonexistent/key") && text.contains("cannot be read"))
    }

    // MARK: - Files

    @Test func errorsNameUnusableFiles() async throws {
        try await withAuthority { authority in
            try await authority.makeClientFiles("kiosk")
            try await authority.makeClientFiles("other")
            func using(_ certificate: String, _ key: String) -> TLSSettings {
                let files = TLSSettings.Identity(
                    certificateFile: authority.path(certificate),
                    keyFile: authority.path(key)
                )
                return TLSSettings(.trusting(authority, files))
            }
            let (none, key) = (authority.path("none.pem"), authority.path("kiosk.key"))
            let cases: [(TLSSettings, TLSProblem)] = [
                (TLSSettings(.certificates(.authority(file: none))), .unusableAuthority(file: none)),
                (TLSSettings(.certificates(.authority(file: key))), .unusableAuthority(file: key)),
                (using("kiosk.key", "kiosk.key"), .unusableCertificate(file: key)),
                (using("kiosk.pem", "locked.key"), .unusableKey(file: authority.path("locked.key"))),
                (using("kiosk.pem", "kiosk.pem"), .unusableKey(file: authority.path("kiosk.pem"))),
                (
                    using("kiosk.pem", "other.key"),
                    .keyMismatch(keyFile: authority.path("other.key"), certificateFile: authority.path("kiosk.pem"))
                ),
            ]
            for (settings, expected) in cases { #expect(try problem(of: settings) == expected) }
        }
    }

    // MARK: - The handshake

    @Test(arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", "", "\u{15}\u{3}\u{3}"])
    func aServerWithoutTLSIsUnsecured(answer: String) throws {
        let sockets = try socketPair()
        let context = try TLSContext(TLSSettings(.certificates(.insecure)))
        let link = try context.makeLink(over: SocketLink(sockets.client), host: "localhost")
        #expect(try !link.advance())
        let server = SocketLink(sockets.server)
        _ = try server.write(answer.utf8)
        server.finish()
        let error = try #require(throws: LinkError.self) { while try !link.advance() {} }
        guard case .tls(let problem) = error, case .unsecured = problem else { throw error }
        #expect(!problem.needsReconfiguration)
    }

    @Test func bytesBeforeTheHandshakeAreNotTLS() throws {
        let sockets = try socketPair()
        let context = try TLSContext(TLSSettings(.certificates(.insecure)))
        #expect(throws: LinkError.self) {
            try context.makeLink(over: SocketLink(sockets.client, first: [1]), host: "localhost")
        }
    }

    @Test func theServerLearnsTheNameButNoAddress() async throws {
        try await withAuthority { authority in
            let settings = TLSSettings(.certificates(.insecure))
            let names = ["localhost": "localhost", "a.example.": "a.example", "127.0.0.1": nil, "::1": nil]
            for (host, name) in names {
                let pair = try TLSPair(TLSPeerOptions(authority), settings, host: host)
                try pair.open()
                let received = SSL_get_servername(pair.peer.connection, TLSEXT_NAMETYPE_host_name)
                #expect(received.map { String(cString: $0) } == name)
            }
        }
    }

    @Test func theProtocolIsNegotiated() async throws {
        try await withAuthority { authority in
            var options = TLSPeerOptions(authority)
            options.selectsMQTT = true
            let offers: [[String]: String] = [["mqtt"]: "mqtt", ["", "mqtt"]: "mqtt", ["http/1.1"]: "", []: ""]
            for (protocols, selected) in offers {
                let pair = try TLSPair(options, TLSSettings(.trusting(authority), protocols: protocols))
                try pair.open()
                var (name, length): (UnsafePointer<UInt8>?, UInt32) = (nil, 0)
                SSL_get0_alpn_selected(pair.peer.connection, &name, &length)
                let text = String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
                #expect(text == selected)
            }
        }
    }

    @Test func aContextServesSeveralConnections() async throws {
        try await withAuthority { authority in
            let context = try TLSContext(TLSSettings(.trusting(authority)))
            for host in ["localhost", "other.example", "localhost"] {
                let sockets = try socketPair()
                let peer = try TLSPeer(TLSPeerOptions(authority), sockets.server)
                let link = try context.makeLink(over: SocketLink(sockets.client), host: host)
                func open() throws { while try !link.advance() { peer.advance() } }
                if host == "localhost" { try open() } else { #expect(throws: LinkError.self) { try open() } }
            }
        }
    }
}

extension TestAuthority {
    func identity(_ name: String) -> TLSSettings.Identity {
        TLSSettings.Identity(certificateFile: path("\(name).pem"), keyFile: path("\(name).key"))
    }
}
