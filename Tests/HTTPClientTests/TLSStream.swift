import AdapterSupport
import BrokerKit
import COpenSSL
import SecureTransport

/// A server's side of TLS, with blocking reads and writes.
final class TLSStream: HTTPPeerStream {
    private let connection: OpaquePointer

    /// Does the handshake.
    ///
    /// - Parameter clientAuthority: The file with the authority of the client certificates that the server requires.
    /// - Returns: `nil` if the handshake fails.
    init?(_ authority: TestAuthority, clientAuthority: String? = nil, _ socket: Int32) {
        TLSLibrary.ignoreBrokenPipes()
        guard let context = SSL_CTX_new(TLS_server_method()) else { return nil }
        defer { SSL_CTX_free(context) }
        SSL_CTX_use_certificate_chain_file(context, authority.certificateFile)
        SSL_CTX_use_PrivateKey_file(context, authority.keyFile, SSL_FILETYPE_PEM)
        if let clientAuthority {
            SSL_CTX_load_verify_locations(context, clientAuthority, nil)
            SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        }
        guard let connection = SSL_new(context) else { return nil }
        SSL_set_fd(connection, socket)
        self.connection = connection
        guard SSL_accept(connection) == 1 else { return nil }
    }

    deinit {
        SSL_free(connection)
        ERR_clear_error()
    }

    func read() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let count = SSL_read(connection, &buffer, Int32(buffer.count))
        return count > 0 ? Array(buffer.prefix(Int(count))) : nil
    }

    func write(_ bytes: [UInt8]) -> Bool { SSL_write(connection, bytes, Int32(bytes.count)) == bytes.count }
}
