import AdapterSupport
import COpenSSL
import SignalboxCore

/// The client's side of TLS for one or more connections: what it trusts, its certificate and its key.
///
/// A context does not change after it is made. It is released when the last connection has ended.
package final class TLSContext: @unchecked Sendable {
    // OpenSSL locks a context's reference count and caches itself, and nothing else of it changes after `init`.
    private let context: OpaquePointer
    private let settings: TLSSettings
    private var key: [UInt8]

    /// Reads certificate files and the secret. May block.
    ///
    /// - Throws: ``TLSProblem``, one of those that precede a connection.
    package init(_ settings: TLSSettings) throws(TLSProblem) {
        TLSLibrary.ignoreBrokenPipes()
        // Reading the key first leaves nothing to release if that fails.
        key = try TLSContext.key(of: settings)
        guard let context = cssl_new_client() else { throw .noResources }
        self.context = context
        self.settings = settings
        switch settings.authentication {
        case .certificates(let trust, let identity):
            try configureTrust(trust)
            if let identity { try useCertificate(identity) }
        case .preSharedKey:
            guard cssl_expect_pre_shared_key(context) == 1 else { throw .preSharedKeysNotSupported }
        }
    }

    deinit {
        SSL_CTX_free(context)
        key.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
    }

    /// Makes a link that encrypts what a socket carries. The handshake begins with ``Link/advance()``.
    ///
    /// - Parameter host: The name or numeric address that the server's certificate must be for, unless all certificates
    ///   are trusted. An IPv6 address is written without brackets.
    package func makeLink(over link: SocketLink, host: String) throws(LinkError) -> TLSLink {
        // A TLS server never speaks first, so these bytes are not TLS.
        guard !link.hasFirst else { throw .tls(.unsecured(reason: "the server sent bytes before the handshake")) }
        let record = UnsafeMutablePointer<cssl_record>.allocate(capacity: 1)
        var empty = cssl_record()
        empty.alert = -1
        record.initialize(to: empty)
        guard setKey(record), let connection = cssl_connect(context, record, link.descriptor) else {
            cssl_cleanse(record)
            record.deallocate()
            throw .tls(.noResources)
        }
        let made = TLSLink(connection, record, over: link, settings.authentication)
        guard prepare(connection, host) else { throw .tls(.noResources) }
        return made
    }

    private func setKey(_ record: UnsafeMutablePointer<cssl_record>) -> Bool {
        guard case .preSharedKey(let identity, _, _) = settings.authentication else { return true }
        return cssl_set_pre_shared_key(record, identity, key, UInt32(key.count)) == 1
    }

    private func prepare(_ connection: OpaquePointer, _ host: String) -> Bool {
        // The extension must not contain an address (RFC 6066, 3), and the name has no dot at its end.
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        if NumericAddress(host) == nil, (1...255).contains(name.utf8.count) {
            guard cssl_send_name(connection, name) == 1 else { return false }
        }
        let protocols = settings.protocolList
        if !protocols.isEmpty {
            guard cssl_offer_protocols(connection, protocols, UInt32(protocols.count)) == 1 else { return false }
        }
        return !checksHost || cssl_expect_host(connection, host) == 1
    }

    private var checksHost: Bool {
        switch settings.authentication {
        case .certificates(.insecure, _), .preSharedKey: false
        case .certificates: true
        }
    }

    // MARK: - Files

    private func configureTrust(_ trust: TLSSettings.Trust) throws(TLSProblem) {
        switch trust {
        case .insecure: cssl_disable_verification(context)
        case .system:
            guard cssl_trust_system(context) == 1 else { throw .unreadableSystemTrust }
        case .authority(let file):
            guard cssl_trust_file(context, file) == 1 else { throw .unusableAuthority(file: file) }
        }
    }

    private func useCertificate(_ identity: TLSSettings.Identity) throws(TLSProblem) {
        guard cssl_use_certificate(context, identity.certificateFile) == 1 else {
            throw .unusableCertificate(file: identity.certificateFile)
        }
        guard cssl_use_key(context, identity.keyFile) != 1 else { return }
        guard cssl_has_key(identity.keyFile) == 1 else { throw .unusableKey(file: identity.keyFile) }
        throw .keyMismatch(keyFile: identity.keyFile, certificateFile: identity.certificateFile)
    }

    private static func key(of settings: TLSSettings) throws(TLSProblem) -> [UInt8] {
        guard case .preSharedKey(_, let secret, let allowsShort) = settings.authentication else { return [] }
        let text: String
        do throws(SecretUnavailable) { text = try secret.read() } catch { throw .secretUnavailable(error.description) }
        guard let bytes = PreSharedKey.bytes(of: text) else { throw .invalidPreSharedKey(secret) }
        guard allowsShort || bytes.count >= PreSharedKey.minimumLength else {
            throw .shortPreSharedKey(secret, bytes: bytes.count)
        }
        return bytes
    }
}
