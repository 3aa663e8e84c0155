import AdapterSupport
import COpenSSL

/// A TLS connection over a socket.
///
/// OpenSSL reads and writes the socket itself. It reads ahead, so that one system call reads many records.
package final class TLSLink: Link {
    /// An `SSL`, which refers to `record`.
    private let connection: OpaquePointer
    private let record: UnsafeMutablePointer<cssl_record>
    private let link: SocketLink
    private let authentication: TLSSettings.Authentication
    private var isOpen = false
    /// The error of OpenSSL. After it, OpenSSL must not be called again for this connection, not even to close it.
    private var failure: LinkError?
    /// Whether bytes have arrived from the server's application.
    private var hasReceived = false
    package private(set) var waitsForWrite = false
    package private(set) var mayHaveMore = false

    /// Takes ownership of the connection and of its record.
    init(
        _ connection: OpaquePointer,
        _ record: UnsafeMutablePointer<cssl_record>,
        over link: SocketLink,
        _ authentication: TLSSettings.Authentication
    ) {
        self.connection = connection
        self.record = record
        self.link = link
        self.authentication = authentication
    }

    deinit {
        SSL_free(connection)
        ERR_clear_error()
        cssl_cleanse(record)
        record.deallocate()
    }

    package var descriptor: Int32 { link.descriptor }

    package var certificateRequest: CertificateRequest? {
        guard record.pointee.is_certificate_requested != 0, case .certificates(_, let identity) = authentication else {
            return nil
        }
        return identity == nil ? .unanswered : .answered
    }

    package func advance() throws(LinkError) -> Bool {
        if let failure { throw failure }
        if isOpen { return true }
        waitsForWrite = false
        ERR_clear_error()
        let result = SSL_do_handshake(connection)
        switch outcome(result, errno) {
        case .done: break
        case .wantsRead: return false
        case .wantsWrite:
            waitsForWrite = true
            return false
        case .failed(let error): throw fail(error)
        }
        isOpen = true
        // What the server sent with the end of the handshake is already inside OpenSSL.
        mayHaveMore = true
        return true
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(LinkError) -> Int {
        if let failure { throw failure }
        guard isOpen, let start = buffer.baseAddress else { return 0 }
        waitsForWrite = false
        var filled = 0
        // Each call returns the bytes of at most one record.
        while filled < buffer.count {
            var count = 0
            ERR_clear_error()
            let result = SSL_read_ex(connection, start + filled, buffer.count - filled, &count)
            switch outcome(result, errno) {
            case .done:
                hasReceived = true
                filled += min(count, buffer.count - filled)
                continue
            case .wantsRead: mayHaveMore = false
            case .wantsWrite:
                // OpenSSL must send something itself before it reads on, such as the answer to a KeyUpdate.
                mayHaveMore = false
                waitsForWrite = true
            case .failed(let error):
                // The bytes before the error come first; the next call throws it.
                failure = error
                mayHaveMore = filled > 0
                guard filled > 0 else { throw error }
            }
            return filled
        }
        mayHaveMore = true
        return filled
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(LinkError) -> Int {
        if let failure { throw failure }
        guard isOpen, let start = bytes.baseAddress else { return 0 }
        try lookForRefusal()
        var written = 0
        while written < bytes.count {
            var count = 0
            ERR_clear_error()
            let result = SSL_write_ex(connection, start + written, bytes.count - written, &count)
            switch outcome(result, errno) {
            case .done:
                written += min(count, bytes.count - written)
            case .wantsRead, .wantsWrite: return written
            case .failed(let error): throw fail(error)
            }
        }
        return written
    }

    package func finish() {
        if isOpen, failure == nil {
            // OpenSSL sends no close_notify in the middle of a record that the socket has taken in part.
            ERR_clear_error()
            SSL_shutdown(connection)
            ERR_clear_error()
        }
        link.finish()
    }

    // MARK: - Outcomes

    private enum Outcome {
        case done, wantsRead, wantsWrite
        case failed(LinkError)
    }

    /// In TLS 1.3, a server that refuses the client certificate sends an alert after the handshake, and a failed write
    /// would lose that alert. Until the server has sent something, an alert is therefore looked for before each write.
    private func lookForRefusal() throws(LinkError) {
        guard !hasReceived else { return }
        var byte: UInt8 = 0
        var count = 0
        ERR_clear_error()
        let result = SSL_peek_ex(connection, &byte, 1, &count)
        switch outcome(result, errno) {
        case .done:
            hasReceived = true
            mayHaveMore = true
        case .wantsRead: break
        case .wantsWrite: waitsForWrite = true
        case .failed(let error): throw fail(error)
        }
    }

    /// - Parameters:
    ///   - result: What OpenSSL's function returned, which is 1 if it succeeded.
    ///   - code: The value of `errno` directly after the call.
    private func outcome(_ result: Int32, _ code: Int32) -> Outcome {
        guard result != 1 else { return .done }
        let error = SSL_get_error(connection, result)
        switch error {
        case SSL_ERROR_WANT_READ: return .wantsRead
        case SSL_ERROR_WANT_WRITE: return .wantsWrite
        case SSL_ERROR_ZERO_RETURN where isOpen: return .failed(.closed)
        default: break
        }
        let first = ERR_peek_error()
        let reason = ERR_reason_error_string(first).map { String(cString: $0) }
        let isCut = error == SSL_ERROR_SSL ? TLSLink.isUnexpectedEnd(first) : code == 0
        let systemReason = error == SSL_ERROR_SYSCALL && code != 0 ? StreamSocket.errorText(code) : nil
        ERR_clear_error()
        if let problem = TLSProblem(record.pointee, authentication) { return .failed(.tls(problem)) }
        guard isOpen else { return .failed(.tls(.unsecured(reason: systemReason ?? reason))) }
        if isCut { return .failed(.reset("the connection ended without close_notify")) }
        if let systemReason { return .failed(.reset(systemReason)) }
        return .failed(.tls(.violation(reason: reason ?? "unknown")))
    }

    /// Whether the server closed the connection without close_notify, perhaps in the middle of a record.
    private static func isUnexpectedEnd(_ error: UInt) -> Bool {
        ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING
    }

    private func fail(_ error: LinkError) -> LinkError {
        failure = error
        mayHaveMore = false
        waitsForWrite = false
        return error
    }
}

extension TLSProblem {
    /// Reads the record of a connection that has ended, or returns `nil` if TLS was not the reason.
    ///
    /// Only an alert proves that the server refused the client certificate. A closed connection proves nothing, because
    /// a restarting server closes its connections as well.
    init?(_ record: cssl_record, _ authentication: TLSSettings.Authentication) {
        if record.certificate_error != 0 {
            self.init(certificateError: record.certificate_error, authentication)
        } else if record.alert >= 0 {
            let isRequested = record.is_certificate_requested != 0
            self.init(TLSAlert(record.alert), authentication, isCertificateRequested: isRequested)
        } else {
            return nil
        }
    }

    /// - Parameter certificateError: The reason, as one of OpenSSL's `X509_V_ERR_` numbers.
    private init(certificateError: Int32, _ authentication: TLSSettings.Authentication) {
        let reason = String(cString: X509_verify_cert_error_string(Int(certificateError)))
        if case .preSharedKey = authentication {
            self = .certificateInsteadOfKey
            return
        }
        switch certificateError {
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: self = .wrongHost(reason: reason)
        case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID: self = .expiredCertificate(reason: reason)
        default: self = .untrustedCertificate(reason: reason)
        }
    }

    private init(_ alert: TLSAlert, _ authentication: TLSSettings.Authentication, isCertificateRequested: Bool) {
        switch authentication {
        case .preSharedKey: self = .preSharedKeyRefused(alert)
        case .certificates(_, nil) where isCertificateRequested && alert.isAboutCertificate:
            self = .certificateRequired(alert)
        case .certificates where isCertificateRequested && alert.isAboutCertificate: self = .certificateRefused(alert)
        default: self = .alert(alert)
        }
    }
}
