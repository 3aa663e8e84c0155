package import AdapterSupport

/// A connected socket without encryption: TCP, or a unix socket.
package final class SocketLink: Link {
    private let socket: OwnedDescriptor
    private var first: ArraySlice<UInt8>
    private var failure: LinkError?
    private var isFull = false

    /// - Parameters:
    ///   - socket: The socket, which must be connected and must not block.
    ///   - first: Bytes of the server that were already read from the socket. They come before all others.
    package init(_ socket: OwnedDescriptor, first: [UInt8] = []) {
        self.socket = socket
        self.first = first[...]
    }

    package var descriptor: Int32 { socket.number }

    package var waitsForWrite: Bool { false }

    /// Whether the last read filled its buffer. After a shorter read, the descriptor becomes readable when there is
    /// more.
    package var mayHaveMore: Bool { !first.isEmpty || isFull }

    package var certificateRequest: CertificateRequest? { nil }

    package func advance() throws(LinkError) -> Bool {
        if let failure { throw failure }
        return true
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(LinkError) -> Int {
        if let failure { throw failure }
        // The system would return 0 as it does at the end of the connection.
        guard !buffer.isEmpty else { return 0 }
        isFull = false
        if !first.isEmpty { return readFirst(into: buffer) }
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 {
                isFull = count == buffer.count
                return count
            }
            guard count < 0 else { throw fail(.closed) }
            let code = errno
            if code == EINTR { continue }
            guard code == EAGAIN || code == EWOULDBLOCK else { throw fail(.reset(StreamSocket.errorText(code))) }
            return 0
        }
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(LinkError) -> Int {
        if let failure { throw failure }
        var written = 0
        while written < bytes.count {
            let count = StreamSocket.send(UnsafeRawBufferPointer(rebasing: bytes[written...]), on: descriptor)
            if count >= 0 {
                written += count
                continue
            }
            let code = errno
            if code == EINTR { continue }
            if code == EAGAIN || code == EWOULDBLOCK { return written }
            // Bytes of the server may still be there to read, so only writing has failed.
            throw .reset(StreamSocket.errorText(code))
        }
        return written
    }

    package func finish() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Whether bytes were given to the initializer that have not been read yet.
    var hasFirst: Bool { !first.isEmpty }

    private func readFirst(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let part = first.prefix(buffer.count)
        buffer.copyBytes(from: part)
        first = first.dropFirst(part.count)
        // There may be more in the socket, which has not been asked yet.
        isFull = true
        return part.count
    }

    private func fail(_ error: LinkError) -> LinkError {
        failure = error
        return error
    }
}
