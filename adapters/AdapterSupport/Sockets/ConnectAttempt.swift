/// How the start of an attempt to connect ended, which never blocks.
package enum ConnectAttempt {
    case connected(OwnedDescriptor)
    /// The socket becomes writable when the attempt has ended. ``error(of:)`` then says how.
    case pending(OwnedDescriptor)
    /// The server cannot be reached, for the given reason.
    case failed(String)
    /// The server, on this machine, accepts no connection at the moment. Linux has no event for the end of this state
    /// (connect(2), `EAGAIN`).
    case busy
    /// There can be no socket, for the given reason.
    case noResources(String)

    /// Connects to a numeric address over TCP.
    package static func start(_ address: String, _ port: UInt16) -> ConnectAttempt {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        hints.ai_socktype = StreamSocket.type
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(address, "\(port)", &hints, &list)
        guard code == 0, let entry = list else { return .failed(String(cString: gai_strerror(code))) }
        defer { freeaddrinfo(list) }
        return start(entry.pointee.ai_family) { socket in
            // Small packets must not wait for the acknowledgement of earlier ones.
            var yes: Int32 = 1
            setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
            return connect(socket, entry.pointee.ai_addr, entry.pointee.ai_addrlen)
        }
    }

    /// Connects to the Unix socket at a path.
    package static func start(unixSocket path: String) -> ConnectAttempt {
        start(AF_UNIX) { socket in UnixAddress.with(path) { connect(socket, $0, $1) } }
    }

    /// - Parameter connect: Calls connect(2) for the socket.
    private static func start(_ family: Int32, _ connect: (Int32) -> Int32) -> ConnectAttempt {
        guard let socket = StreamSocket.make(family) else {
            let code = errno
            // A system without this family of addresses may have the other one.
            let text = StreamSocket.errorText(code)
            return code == EAFNOSUPPORT ? .failed(text) : .noResources(text)
        }
        guard connect(socket.number) != 0 else { return .connected(socket) }
        let code = errno
        switch code {
        case EINPROGRESS, EINTR: return .pending(socket)
        case EAGAIN where family == AF_UNIX: return .busy
        default: return .failed(StreamSocket.errorText(code))
        }
    }

    /// The reason why a pending attempt that has ended was in vain, or `nil` if the socket is connected.
    package static func failure(of socket: OwnedDescriptor) -> String? {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        if getsockopt(socket.number, SOL_SOCKET, SO_ERROR, &error, &length) != 0 { error = errno }
        return error == 0 ? nil : StreamSocket.errorText(error)
    }
}

/// The address of a Unix socket.
package enum UnixAddress {
    /// The maximum length of a path in bytes (`sun_path` of unix(7) without its NUL): 107 on Linux, 103 on macOS.
    package static let pathLimit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// Calls a closure with the address of a path. Check ``pathLimit`` first, because a longer path is cut.
    ///
    /// On Linux, the text after a leading `@` is the name of an abstract socket, which is not in the file system (unix(7)).
    package static func with<R>(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(pathLimit)) }
        var length = MemoryLayout<sockaddr_un>.size
        #if os(Linux)
        if path.utf8.first == UInt8(ascii: "@") {
            withUnsafeMutableBytes(of: &address.sun_path) { $0[0] = 0 }
            // Each byte within the length belongs to the name.
            length -= pathLimit + 1 - min(path.utf8.count, pathLimit)
        }
        #endif
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
        }
    }
}
