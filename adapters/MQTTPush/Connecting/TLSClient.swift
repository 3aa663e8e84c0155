import AdapterSupport
import COpenSSL
import SignalboxCore

/// The client side of TLS for one connection, consisting of the context for libmosquitto and a record of the handshake.
///
/// An instance may be used by only one thread. It must outlive the libmosquitto handle that uses its context.
final class TLSClient {
    /// An `SSL_CTX`.
    let context: OpaquePointer
    private let record: UnsafeMutablePointer<cssl_record>
    private let security: MQTTSecurity

    // OpenSSL never frees such an index, so allocate only one per process.
    private static let exDataIndex = cssl_record_index()

    /// Creates a context, reading certificate files and secrets.
    ///
    /// - Parameter shortKeyRemedy: The end of the sentence about a pre-shared key that is too short.
    /// - Returns: `nil` if the connection does not use TLS.
    /// - Throws: ``MQTTPushError`` `unusableFile`, `secretUnavailable` or `noResources`.
    init?(
        _ security: MQTTSecurity,
        host: String,
        shortKeyRemedy: String = BrokerRemedy.shortKey.text
    ) throws(MQTTPushError) {
        if case .none = security { return nil }
        record = .allocate(capacity: 1)
        var empty = cssl_record()
        empty.alert = -1
        record.initialize(to: empty)
        guard let context = cssl_new(record, TLSClient.exDataIndex) else {
            record.deallocate()
            throw MQTTPushError(.noResources, "there is not enough memory for TLS")
        }
        self.context = context
        self.security = security
        switch security {
        case .none: break
        case .tls(let trust, let identity):
            try configureTrust(trust, host)
            if let identity { try useClientCertificate(identity) }
        case .preSharedKey(let identity, let key, let allowsShort):
            try usePreSharedKey(identity, key, shortRemedy: allowsShort ? nil : shortKeyRemedy)
        }
    }

    deinit {
        SSL_CTX_free(context)
        // Some versions of libmosquitto do not release the context if no TCP connection was made.
        if record.pointee.is_freed == 0 { SSL_CTX_free(context) }
        cssl_cleanse(record)
        record.deallocate()
    }

    /// Whether the handshake is complete.
    var isSecured: Bool { record.pointee.is_secured != 0 }

    /// Why TLS ended the connection before CONNACK, or `nil` if TLS was not the reason.
    ///
    /// Only an alert proves that the broker refused the client certificate. A closed connection proves nothing, because
    /// a restarting broker closes its connections as well.
    var failure: TLSFailure? {
        let outcome = record.pointee
        if outcome.certificate_error != 0 { return TLSFailure(certificateError: outcome.certificate_error, security) }
        if outcome.alert >= 0 {
            let certificateRequested = outcome.is_certificate_requested != 0
            return TLSFailure(alert: outcome.alert, security, certificateRequested: certificateRequested)
        }
        return outcome.is_secured == 0 ? .unsecured : nil
    }

    /// Advice to log if the connection was secured but ended before CONNACK without a ``failure``.
    var advice: String? {
        guard record.pointee.is_certificate_requested != 0, case .tls(_, let identity) = security else { return nil }
        return identity == nil
            ? "the broker requests a client certificate: if this persists, name the files of a certificate and its key"
            : "the broker requested the client certificate: if this persists, check that the broker trusts it"
    }

    private func configureTrust(_ trust: MQTTServerTrust, _ host: String) throws(MQTTPushError) {
        switch trust {
        case .insecure:
            cssl_disable_verification(context)
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
            throw MQTTPushError(.noResources, "there is not enough memory for TLS")
        }
    }

    private func useClientCertificate(_ identity: MQTTIdentity) throws(MQTTPushError) {
        guard cssl_use_certificate(context, identity.certificateFile) == 1 else {
            throw TLSClient.unusable(identity.certificateFile, "a client certificate")
        }
        guard cssl_use_key(context, identity.keyFile) == 1 else {
            guard cssl_has_key(identity.keyFile) == 1 else {
                throw TLSClient.unusable(identity.keyFile, "a private key without a passphrase")
            }
            throw MQTTPushError(
                .unusableFile,
                "the key in \(identity.keyFile.debugDescription) does not match the certificate in "
                    + identity.certificateFile.debugDescription
            )
        }
    }

    /// - Parameter shortRemedy: What to do about a short key, or `nil` if it is allowed.
    private func usePreSharedKey(_ identity: String, _ key: Secret, shortRemedy: String?) throws(MQTTPushError) {
        guard let bytes = PreSharedKey.bytes(of: try MQTTPushError.reading(key)) else {
            throw MQTTPushError(
                .secretUnavailable,
                "the \(key) contains no pre-shared key: expected an even number of hexadecimal digits, 32 to 512"
            )
        }
        if let shortRemedy, bytes.count < PreSharedKey.minimumLength {
            throw MQTTPushError(
                .secretUnavailable,
                "the \(key) contains a pre-shared key of \(bytes.count) bytes, which can be guessed: use at least "
                    + "\(PreSharedKey.minimumLength) bytes, \(shortRemedy)"
            )
        }
        guard cssl_use_pre_shared_key(context, record, identity, bytes, UInt32(bytes.count)) == 1 else {
            throw MQTTPushError(.noResources, "this OpenSSL does not support pre-shared keys")
        }
    }

    private static func unusable(_ file: String, _ what: String) -> MQTTPushError {
        MQTTPushError(.unusableFile, "\(file.debugDescription) cannot be read, or does not contain \(what) in PEM")
    }
}

/// The reason why a connection could not be secured, or why the broker refused it immediately afterwards.
struct TLSFailure: Equatable {
    let code: MQTTPushError.Code
    /// The rest of a log sentence whose subject is the broker.
    let detail: String
    /// What the operator can do, unless the detail says it.
    let remedy: BrokerRemedy?

    /// Whether it is pointless to retry soon, because a configuration or a certificate must change first.
    var needsReconfiguration: Bool { code != .tlsFailed }

    /// Creates the failure for a broker certificate that this client refused.
    ///
    /// - Parameter certificateError: The reason, as one of OpenSSL's `X509_V_ERR_` numbers.
    init(certificateError: Int32, _ security: MQTTSecurity) {
        let text = String(cString: X509_verify_cert_error_string(Int(certificateError)))
        if case .preSharedKey = security {
            self.init(
                .preSharedKeyRefused,
                "presents a certificate instead of using the pre-shared key. Check that its listener has keys"
            )
            return
        }
        switch certificateError {
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            self.init(
                .wrongHost,
                "presents a certificate for another host (\(text)). Use the host name in the certificate, or have a "
                    + "certificate issued for this host"
            )
        case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID:
            self.init(
                .expiredCertificate,
                "presents a certificate that is expired or not yet valid (\(text)). Renew it, and check this machine's clock"
            )
        default:
            self.init(
                .untrustedCertificate,
                "presents a certificate that no trusted authority has signed (\(text))",
                .authority
            )
        }
    }

    /// Creates the failure for an alert sent by the broker.
    ///
    /// - Parameter alert: The number of the alert (RFC 8446, 6.2).
    init(alert: Int32, _ security: MQTTSecurity, certificateRequested: Bool) {
        let text = "\(String(cString: SSL_alert_desc_string_long(alert))), alert \(alert)"
        switch security {
        case .preSharedKey:
            self.init(.preSharedKeyRefused, "refused the pre-shared key (\(text))", .preSharedKey)
        case .tls(_, nil) where certificateRequested && TLSFailure.certificateAlerts.contains(alert):
            self.init(.certificateRefused, "requests a client certificate (\(text))", .identity)
        case .tls where certificateRequested && TLSFailure.certificateAlerts.contains(alert):
            let advice = "Check that it is valid and that the broker trusts its authority"
            self.init(.certificateRefused, "refused the client certificate (\(text)). \(advice)")
        default:
            self.init(.tlsFailed, "cannot negotiate TLS (\(text))")
        }
    }

    /// The failure for a connection that ended without an alert before it was secured.
    static let unsecured = TLSFailure(
        .tlsFailed,
        "closed the connection during the TLS handshake. Check that it speaks TLS on this port"
    )

    private init(_ code: MQTTPushError.Code, _ detail: String, _ remedy: BrokerRemedy? = nil) {
        self.remedy = remedy
        self.code = code
        self.detail = detail
    }

    // If the client certificate is missing, a TLS 1.2 server sends handshake_failure, and a TLS 1.3 server sends
    // certificate_required.
    private static let certificateAlerts: Set<Int32> = [40, 42, 43, 44, 45, 46, 48, 49, 51, 116]
}

/// Decodes pre-shared keys from hexadecimal notation.
enum PreSharedKey {
    /// The maximum length of a key in bytes, as accepted by OpenSSL.
    static let maximumLength = 256
    /// The minimum length in bytes of a key that cannot be guessed (RFC 9257, 6).
    static let minimumLength = 16

    /// Decodes a key.
    ///
    /// - Returns: `nil` unless the text is an even number of hexadecimal digits, from 2 to 512.
    static func bytes(of text: String) -> [UInt8]? {
        // Each byte is read as a Latin-1 character. Only ASCII characters are digits in Latin-1.
        let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == text.utf8.count, (2...2 * maximumLength).contains(digits.count),
            digits.count.isMultiple(of: 2)
        else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
