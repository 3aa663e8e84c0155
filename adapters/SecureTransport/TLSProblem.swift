import COpenSSL
package import SignalboxCore

/// Why TLS could not be used for a connection, or why it failed.
package enum TLSProblem: Error, Sendable, Hashable {
    // MARK: Before the connection

    /// The system has no memory for TLS.
    case noResources
    /// The system's certificate authorities cannot be read.
    case unreadableSystemTrust
    /// The file cannot be read, or contains no certificate of an authority in PEM.
    case unusableAuthority(file: String)
    /// The file cannot be read, or contains no client certificate in PEM.
    case unusableCertificate(file: String)
    /// The file cannot be read, or contains no private key in PEM that needs no passphrase.
    case unusableKey(file: String)
    /// The private key is not that of the client certificate.
    case keyMismatch(keyFile: String, certificateFile: String)
    /// The pre-shared key cannot be read. The text says where it comes from and why, and does not contain the key.
    case secretUnavailable(String)
    /// The secret is not an even number of hexadecimal digits, from 2 to 512.
    case invalidPreSharedKey(Secret)
    /// The pre-shared key has only this number of bytes, so that it can be guessed.
    case shortPreSharedKey(Secret, bytes: Int)
    /// OpenSSL was built without pre-shared keys.
    case preSharedKeysNotSupported

    // MARK: The server's certificate, which this client refused

    /// No trusted authority has signed the certificate.
    case untrustedCertificate(reason: String)
    /// The certificate is for another host.
    case wrongHost(reason: String)
    /// The certificate has expired, or is not valid yet.
    case expiredCertificate(reason: String)
    /// The server presented a certificate instead of using the pre-shared key.
    case certificateInsteadOfKey

    // MARK: The server's alerts

    /// The server refused the pre-shared key or its identity.
    case preSharedKeyRefused(TLSAlert)
    /// The server requires a client certificate, and there is none.
    case certificateRequired(TLSAlert)
    /// The server refused the client certificate.
    case certificateRefused(TLSAlert)
    /// The server ended the connection for another reason.
    case alert(TLSAlert)

    // MARK: Neither

    /// The connection ended, or was not TLS, before it was secured. The reason is OpenSSL's, if it has one.
    case unsecured(reason: String?)
    /// The server violated TLS after the connection was secured, or its bytes were changed on the way.
    case violation(reason: String)

    /// Whether an attempt would fail again until a configuration or a certificate has changed.
    package var needsReconfiguration: Bool {
        switch self {
        case .noResources, .alert, .unsecured, .violation: false
        default: true
        }
    }
}

/// An alert that a server sent (RFC 8446, 6).
package struct TLSAlert: Sendable, Hashable, CustomStringConvertible {
    /// The number of the alert (RFC 8446, 6.2).
    package let number: Int32

    package init(_ number: Int32) {
        self.number = number
    }

    /// The name of the alert, such as `bad certificate`.
    package var name: String {
        // OpenSSL 3.0 does not know this alert. Servers send it if the client presents no certificate.
        number == 116 ? "certificate required" : String(cString: SSL_alert_desc_string_long(number))
    }

    /// The alert's name and number, for log lines.
    package var description: String { "\(name), alert \(number)" }

    // If the client certificate is missing, a TLS 1.2 server sends handshake_failure, and a TLS 1.3 server sends
    // certificate_required.
    private static let aboutCertificates: Set<Int32> = [40, 42, 43, 44, 45, 46, 48, 49, 51, 116]

    /// Whether servers send this alert when a client's certificate is missing or unacceptable.
    var isAboutCertificate: Bool { TLSAlert.aboutCertificates.contains(number) }

    /// Whether the server accepts none of the offered application protocols (RFC 7301, 3.2).
    package var isAboutApplicationProtocol: Bool { number == 120 }
}
