package import AdapterSupport

/// A connection that carries bytes to a server and back, and that never blocks.
///
/// Only one thread may use a link. The thread waits with `poll` for ``descriptor``, but not while ``mayHaveMore`` is
/// `true`, because bytes inside the link do not make the descriptor readable. Releasing a link closes its socket.
///
/// A link that has thrown an error is unusable, and each later call throws that error again. As an exception, a link
/// without TLS can still be read after ``write(_:)`` has failed, because the server's last bytes may give the reason.
package protocol Link: AnyObject {
    /// The socket to poll. It stays the same as long as the link exists.
    var descriptor: Int32 { get }
    /// Whether the link itself must write. Wait until the descriptor is writable, even without output, and then call
    /// ``advance()`` or, once the link is open, ``read(into:)``.
    var waitsForWrite: Bool { get }
    /// Whether the link may have more bytes at once. If so, call ``read(into:)`` instead of waiting.
    var mayHaveMore: Bool { get }
    /// Whether the server requested a certificate of this client, and whether it got one.
    var certificateRequest: CertificateRequest? { get }

    /// Continues the handshakes. Call this method until it returns `true`, whenever the descriptor is ready.
    ///
    /// - Returns: Whether the link is open, so that it can be read and written.
    func advance() throws(LinkError) -> Bool

    /// Reads as many bytes as there are and fit.
    ///
    /// - Returns: The number of bytes, which is 0 if there are none at the moment. The end of the connection is the
    ///   error ``LinkError/closed``.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(LinkError) -> Int

    /// Writes as many bytes as the link accepts.
    ///
    /// A link may have encrypted bytes that it could not send yet. If this method returns fewer bytes than it was
    /// given, the next call must therefore start with the bytes that were left, and have at least as many.
    ///
    /// - Returns: The number of bytes, which is 0 if the link accepts none at the moment.
    func write(_ bytes: UnsafeRawBufferPointer) throws(LinkError) -> Int

    /// Announces that nothing more will be written. Afterwards, only ``read(into:)`` may be called.
    func finish()
}

extension Link {
    /// Limits how long sent bytes may stay unacknowledged by the server's system before the connection breaks (tcp(7),
    /// `TCP_USER_TIMEOUT`). This has no effect on systems other than Linux, and on unix sockets.
    package func limitUnacknowledged(to limit: Duration) {
        #if os(Linux)
        var milliseconds = UInt32(limit.pollMilliseconds)
        let size = socklen_t(MemoryLayout<UInt32>.size)
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds, size)
        #endif
    }
}

/// A server's request for a client certificate.
package enum CertificateRequest: Sendable, Hashable {
    /// The client had no certificate to present.
    case unanswered
    /// The client presented its certificate.
    case answered
}

/// Why there is no link to a server, or no longer.
package enum LinkError: Error, Sendable, Equatable {
    /// The server closed the connection properly.
    case closed
    /// The connection broke for the given reason.
    case reset(String)
    /// TLS could not be used, or failed.
    case tls(TLSProblem)
    /// The server gave no WebSocket.
    case upgrade(UpgradeProblem)
    /// The proxy gave no connection.
    case proxy(ProxyFailure)
    /// The server's name could not be resolved for the given reason.
    case notResolved(String)
    /// None of the server's addresses could be connected to. The reason is that of the last one that failed.
    case unreachable(String)
    /// The time for the attempt was over.
    case timeout
    /// The system does not have what the connection needs, for the given reason.
    case noResources(String)
}
