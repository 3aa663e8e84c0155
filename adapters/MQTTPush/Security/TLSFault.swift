import COpenSSL

/// Why a connection could not be secured, or was refused as soon as it was.
struct TLSFault: Equatable {
    let code: MQTTPushError.Code
    /// What follows the broker's name in a sentence, with what to do about it.
    let detail: String

    /// Trying again soon is pointless: somebody must change a configuration or a certificate first.
    var needsConfiguration: Bool { code != .tlsFailed }

    /// A certificate of the broker was refused.
    ///
    /// - Parameter certificateFault: one of OpenSSL's `X509_V_ERR_` numbers.
    init(certificateFault: Int32, _ security: MQTTSecurity) {
        let said = String(cString: X509_verify_cert_error_string(Int(certificateFault)))
        if case .preSharedKey = security {
            self.init(
                .preSharedKeyRefused,
                "shows a certificate instead of using the pre-shared key. Check that its listener has keys"
            )
            return
        }
        switch certificateFault {
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            self.init(
                .wrongHost,
                "shows a certificate for another host (\(said)). Write the host as the certificate has it, or have the "
                    + "certificate made for this one"
            )
        case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID:
            self.init(
                .expiredCertificate,
                "shows a certificate that is not valid today (\(said)). Renew it, and check this machine's clock"
            )
        default:
            self.init(
                .untrustedCertificate,
                "shows a certificate that no trusted authority has signed (\(said)). Name the file of its authority"
            )
        }
    }

    /// The broker said that something is wrong.
    ///
    /// - Parameter alert: its number (RFC 8446, 6.2).
    init(alert: Int32, _ security: MQTTSecurity, wasAsked: Bool) {
        let said = "\(String(cString: SSL_alert_desc_string_long(alert))), alert \(alert)"
        switch security {
        case .preSharedKey:
            self.init(.preSharedKeyRefused, "refused the pre-shared key (\(said)). Check its identity and the key")
        case .tls(_, let identity) where wasAsked && TLSFault.aboutCertificates.contains(alert):
            self.init(refusing: identity, said)
        default:
            self.init(.tlsFailed, "found no way to speak TLS (\(said))")
        }
    }

    /// The broker asked for a certificate, and did not like the answer.
    private init(refusing identity: MQTTIdentity?, _ said: String) {
        let sentence =
            identity == nil
            ? "asks for a client certificate (\(said)). Name the files of one and its key"
            : "refused the client certificate (\(said)). Check that it is valid and of an authority that the broker trusts"
        self.init(.certificateRefused, sentence)
    }

    /// The connection ended before it was secured, and nobody said why.
    static let unsecured = TLSFault(
        .tlsFailed,
        "ended the connection before it was secured. Check that it speaks TLS on this port"
    )

    private init(_ code: MQTTPushError.Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    // A server of TLS 1.2 that gets no certificate says handshake_failure, one of TLS 1.3 certificate_required.
    private static let aboutCertificates: Set<Int32> = [40, 42, 43, 44, 45, 46, 48, 49, 51, 116]
}
