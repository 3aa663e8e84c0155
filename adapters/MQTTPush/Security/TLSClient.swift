import AdapterThreads
import COpenSSL
import SignalboxCore

/// Our side of TLS for one connection: what libmosquitto makes its connection from, and what OpenSSL found out.
///
/// Belongs to one thread. It must outlive the libmosquitto handle that it was given to.
final class TLSClient {
    /// An `SSL_CTX`.
    let context: OpaquePointer
    private let record: UnsafeMutablePointer<cssl_record>
    private let security: MQTTSecurity

    // Counted by OpenSSL and never given back: once per process.
    private static let place = cssl_place()

    /// Reads files and secrets.
    ///
    /// - Returns: `nil` when the connection is not to be secured.
    /// - Throws: ``MQTTPushError`` `unusableFile`, `secretUnavailable` or `noResources`.
    init?(_ security: MQTTSecurity, host: String) throws(MQTTPushError) {
        if case .none = security { return nil }
        record = .allocate(capacity: 1)
        var empty = cssl_record()
        empty.alert = -1
        record.initialize(to: empty)
        guard let context = cssl_new(record, TLSClient.place) else {
            record.deallocate()
            throw MQTTPushError(.noResources, "no memory is left for TLS")
        }
        self.context = context
        self.security = security
        switch security {
        case .none: break
        case .tls(let trust, let identity):
            try believe(trust, host)
            if let identity { try show(identity) }
        case .preSharedKey(let identity, let key, let allowsShort): try share(identity, key, allowsShort)
        }
    }

    deinit {
        SSL_CTX_free(context)
        // Some versions of libmosquitto keep what they were given when no TCP connection came about.
        if record.pointee.is_gone == 0 { SSL_CTX_free(context) }
        cssl_forget(record)
        record.deallocate()
    }

    /// Whether the handshake is done.
    var isSecured: Bool { record.pointee.is_secured != 0 }

    /// Why the connection ended before the broker's greeting, as far as TLS has to do with it.
    ///
    /// Only an alert speaks of a certificate of ours that is refused: a broker that is being restarted ends connections too.
    var fault: TLSFault? {
        let found = record.pointee
        if found.certificate_fault != 0 { return TLSFault(certificateFault: found.certificate_fault, security) }
        if found.alert >= 0 { return TLSFault(alert: found.alert, security, wasAsked: found.is_asked != 0) }
        return found.is_secured == 0 ? .unsecured : nil
    }

    /// What may be behind a secured connection that ended before the broker's greeting without a ``fault``.
    var advice: String? {
        guard record.pointee.is_asked != 0, case .tls(_, let identity) = security else { return nil }
        return identity == nil
            ? "It asks for a client certificate: if this goes on, name the files of one and its key"
            : "It asked for the client certificate: if this goes on, check that the broker trusts it"
    }

    private func believe(_ trust: MQTTTrust, _ host: String) throws(MQTTPushError) {
        switch trust {
        case .insecure:
            cssl_verify_nothing(context)
            return
        case .system:
            guard cssl_trust_system(context) == 1 else {
                throw MQTTPushError(.unusableFile, "the system's certificates cannot be read")
            }
        case .authority(let file):
            guard cssl_trust_file(context, file) == 1 else {
                throw TLSClient.unusable(file, "a certificate of the broker's authority")
            }
        }
        guard cssl_expect_host(context, host) == 1 else {
            throw MQTTPushError(.noResources, "no memory is left for TLS")
        }
    }

    private func show(_ identity: MQTTIdentity) throws(MQTTPushError) {
        guard cssl_show_certificate(context, identity.certificateFile) == 1 else {
            throw TLSClient.unusable(identity.certificateFile, "a client certificate")
        }
        guard cssl_use_key(context, identity.keyFile) == 1 else {
            guard cssl_has_key(identity.keyFile) == 1 else {
                throw TLSClient.unusable(identity.keyFile, "a private key without a passphrase")
            }
            throw MQTTPushError(
                .unusableFile,
                "the key in \(identity.keyFile.debugDescription) does not belong to the certificate in "
                    + identity.certificateFile.debugDescription
            )
        }
    }

    private func share(_ identity: String, _ key: Secret, _ allowsShort: Bool) throws(MQTTPushError) {
        let text: String
        do throws(SecretUnavailable) { text = try key.read() } catch {
            throw MQTTPushError(.secretUnavailable, error.description)
        }
        guard let bytes = SharedKey.bytes(of: text) else {
            throw MQTTPushError(
                .secretUnavailable,
                "the \(key) holds no pre-shared key: it has 32 to 512 hexadecimal digits, an even number"
            )
        }
        guard allowsShort || bytes.count >= SharedKey.shortest else {
            throw MQTTPushError(
                .secretUnavailable,
                "the \(key) holds a pre-shared key of \(bytes.count) bytes, which can be guessed: use one of at least "
                    + "\(SharedKey.shortest), or allow short keys"
            )
        }
        guard cssl_use_shared_key(context, record, identity, bytes, UInt32(bytes.count)) == 1 else {
            throw MQTTPushError(.noResources, "no pre-shared keys can be used with this OpenSSL")
        }
    }

    private static func unusable(_ file: String, _ what: String) -> MQTTPushError {
        MQTTPushError(.unusableFile, "\(file.debugDescription) cannot be read, or does not hold \(what) as PEM")
    }
}
