import AdapterSupport
import BrokerKit
import COpenSSL
import SecureTransport
import Testing

/// What an in-process TLS server does.
struct TLSPeerOptions {
    var certificateFile: String?
    var keyFile: String?
    /// The file with the authority of the client certificates that the server requires.
    var clientAuthority: String?
    /// The only version, such as `TLS1_2_VERSION`; `nil` for all.
    var version: Int32?
    /// Whether the server knows the key of ``TLSPeer/identity``.
    var hasPreSharedKey = false
    /// The application protocol that the server selects if the client offers it.
    var selectsMQTT = false

    init() {}

    init(_ authority: TestAuthority) {
        certificateFile = authority.certificateFile
        keyFile = authority.keyFile
    }
}

/// The server's end of a TLS connection. It never blocks: a test lets both ends take turns.
final class TLSPeer {
    static let identity = "kiosk"
    static let key: [UInt8] = (0..<32).map { $0 * 7 &+ 1 }
    static let keyText = key.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()

    let socket: OwnedDescriptor
    let connection: OpaquePointer

    init(_ options: TLSPeerOptions, _ socket: OwnedDescriptor) throws {
        self.socket = socket
        let context = try #require(SSL_CTX_new(TLS_server_method()))
        defer { SSL_CTX_free(context) }
        if let version = options.version {
            // SSL_CTRL_SET_MIN_PROTO_VERSION and SSL_CTRL_SET_MAX_PROTO_VERSION.
            try #require(SSL_CTX_ctrl(context, 123, Int(version), nil) == 1)
            try #require(SSL_CTX_ctrl(context, 124, Int(version), nil) == 1)
        }
        if let file = options.certificateFile, let keyFile = options.keyFile {
            try #require(SSL_CTX_use_certificate_chain_file(context, file) == 1)
            try #require(SSL_CTX_use_PrivateKey_file(context, keyFile, SSL_FILETYPE_PEM) == 1)
        }
        if let file = options.clientAuthority {
            try #require(SSL_CTX_load_verify_locations(context, file, nil) == 1)
            SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        }
        if options.hasPreSharedKey { SSL_CTX_set_psk_server_callback(context, TLSPeer.findKey) }
        if options.selectsMQTT { SSL_CTX_set_alpn_select_cb(context, TLSPeer.selectMQTT, nil) }
        connection = try #require(SSL_new(context))
        SSL_set_fd(connection, socket.number)
        SSL_set_accept_state(connection)
    }

    deinit {
        SSL_free(connection)
        ERR_clear_error()
    }

    private static let findKey: SSL_psk_server_cb_func = { _, name, key, size in
        guard let name, let key, String(cString: name) == TLSPeer.identity, size >= 32 else { return 0 }
        for (index, byte) in TLSPeer.key.enumerated() { key[index] = byte }
        return 32
    }

    private static let selectMQTT: SSL_CTX_alpn_select_cb_func = { _, chosen, length, offered, count, _ in
        let list = UnsafeBufferPointer(start: offered, count: Int(count))
        guard list.elementsEqual([4] + Array("mqtt".utf8)), let offered else { return 3 }
        chosen?.pointee = offered + 1
        length?.pointee = 4
        return 0
    }

    /// Continues the handshake. Returns whether it is complete, or has failed.
    @discardableResult
    func advance() -> Bool {
        ERR_clear_error()
        let result = SSL_do_handshake(connection)
        let isOver = result == 1 || SSL_get_error(connection, result) == SSL_ERROR_SSL
        ERR_clear_error()
        return isOver
    }

    /// Writes one record per `size` bytes. Returns how many bytes were written before the socket was full.
    @discardableResult
    func write(_ bytes: [UInt8], recordsOf size: Int) -> Int {
        var written = 0
        bytes.withUnsafeBytes { bytes in
            while written < bytes.count {
                let part = UnsafeRawBufferPointer(rebasing: bytes[written..<min(written + size, bytes.count)])
                ERR_clear_error()
                guard SSL_write(connection, part.baseAddress, Int32(part.count)) == Int32(part.count) else { return }
                written += part.count
            }
        }
        return written
    }

    /// Returns all bytes that have arrived from the client.
    func read() -> [UInt8] {
        var result: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            ERR_clear_error()
            let count = SSL_read(connection, &buffer, Int32(buffer.count))
            guard count > 0 else { return result }
            result += buffer[..<Int(count)]
        }
    }

    /// The outcome of a read that finds no bytes, such as `SSL_ERROR_ZERO_RETURN`.
    func readError() -> Int32 {
        var byte: UInt8 = 0
        ERR_clear_error()
        return SSL_get_error(connection, SSL_read(connection, &byte, 1))
    }
}

/// A socket pair whose ends do not block.
func socketPair(bufferBytes: Int32? = nil) throws -> (client: OwnedDescriptor, server: OwnedDescriptor) {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, StreamSocket.type, 0, &ends) == 0)
    for end in ends {
        _ = fcntl(end, F_SETFL, O_NONBLOCK)
        if var bufferBytes {
            setsockopt(end, SOL_SOCKET, SO_SNDBUF, &bufferBytes, socklen_t(MemoryLayout<Int32>.size))
        }
    }
    return (OwnedDescriptor(ends[0]), OwnedDescriptor(ends[1]))
}

/// A client's link and its server, which a test drives in turns.
struct TLSPair {
    let link: TLSLink
    let peer: TLSPeer

    /// Makes both ends without a handshake.
    init(_ options: TLSPeerOptions, _ settings: TLSSettings, host: String = "localhost", bufferBytes: Int32? = nil)
        throws
    {
        let pair = try socketPair(bufferBytes: bufferBytes)
        peer = try TLSPeer(options, pair.server)
        link = try TLSContext(settings).makeLink(over: SocketLink(pair.client), host: host)
    }

    /// Lets both sides take turns until the client's handshake is complete or fails.
    func open() throws {
        for _ in 0..<100 {
            if try link.advance() {
                peer.advance()
                return
            }
            peer.advance()
        }
        Issue.record("the handshake does not end")
    }

    /// Makes both ends and completes the handshake.
    static func opened(
        _ authority: TestAuthority,
        version: Int32? = nil,
        bufferBytes: Int32? = nil
    ) throws -> TLSPair {
        var options = TLSPeerOptions(authority)
        options.version = version
        let pair = try TLSPair(options, TLSSettings(.trusting(authority)), bufferBytes: bufferBytes)
        try pair.open()
        return pair
    }
}

extension TLSSettings.Authentication {
    static func trusting(_ authority: TestAuthority, _ client: TLSSettings.Identity? = nil) -> Self {
        .certificates(.authority(file: authority.authorityFile), identity: client)
    }
}

/// Runs `body` with an authority whose files are removed afterwards.
func withAuthority(serverDays: Int = 2, _ body: (TestAuthority) async throws -> Void) async throws {
    let authority = try await TestAuthority(serverDays: serverDays)
    defer { authority.remove() }
    try await body(authority)
}

extension Link {
    /// Reads at most `size` bytes.
    func read(_ size: Int = 65_536) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: size)
        let count = try buffer.withUnsafeMutableBytes { try read(into: $0) }
        return Array(buffer[..<count])
    }

    func write(_ bytes: some Collection<UInt8>) throws -> Int {
        try Array(bytes).withUnsafeBytes { try write($0) }
    }

    /// Whether `poll` says that the descriptor is readable.
    var isReadable: Bool {
        SocketWait(socket: descriptor, for: .readable, wake: -1, limit: .zero).isReady
    }
}

/// Returns bytes that repeat only after 251 of them, so that lost or moved ones are noticed.
func pattern(_ count: Int) -> [UInt8] { (0..<count).map { UInt8($0 % 251) } }
