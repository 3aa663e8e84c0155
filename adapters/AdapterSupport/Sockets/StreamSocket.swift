/// A file descriptor that is closed when the last reference to it is released.
package final class OwnedDescriptor: Sendable {
    package let number: Int32

    package init(_ number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }
}

/// Sockets that never block, that no program inherits, and that raise no `SIGPIPE`.
package enum StreamSocket {
    #if canImport(Glibc)
    package static let type = Int32(SOCK_STREAM.rawValue)
    private static let flags = Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    #elseif os(Linux)
    package static let type = SOCK_STREAM
    private static let flags = SOCK_CLOEXEC | SOCK_NONBLOCK
    #else
    package static let type = SOCK_STREAM
    #endif

    /// Returns a socket, or `nil` with the reason in `errno`.
    package static func make(_ family: Int32) -> OwnedDescriptor? {
        #if os(Linux)
        let made = socket(family, type | flags, 0)
        return made < 0 ? nil : OwnedDescriptor(made)
        #else
        let made = socket(family, type, 0)
        guard made >= 0 else { return nil }
        prepare(made)
        return OwnedDescriptor(made)
        #endif
    }

    /// Accepts a connection, or returns `nil` with the reason in `errno`.
    package static func accept(on listener: OwnedDescriptor) -> OwnedDescriptor? {
        let made = acceptedNumber(on: listener)
        return made < 0 ? nil : OwnedDescriptor(made)
    }

    /// Accepts a connection, and returns its descriptor, which the caller owns; or -1 with the reason in `errno`.
    package static func acceptedNumber(on listener: OwnedDescriptor) -> Int32 {
        let made = AdapterSupport.accept(listener.number, nil, nil)
        if made >= 0 { prepare(made) }
        return made
    }

    private static func prepare(_ made: Int32) {
        _ = fcntl(made, F_SETFD, FD_CLOEXEC)
        _ = fcntl(made, F_SETFL, O_NONBLOCK)
        #if !os(Linux)
        var yes: Int32 = 1
        setsockopt(made, SOL_SOCKET, SO_NOSIGPIPE, &yes, socklen_t(MemoryLayout<Int32>.size))
        #endif
    }

    /// Sends as many bytes as the system takes at once. Returns their number, or -1 with the reason in `errno`.
    package static func send(_ bytes: UnsafeRawBufferPointer, on socket: Int32) -> Int {
        #if os(Linux)
        AdapterSupport.send(socket, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        #else
        AdapterSupport.send(socket, bytes.baseAddress, bytes.count, 0)
        #endif
    }

    /// Returns the process that has connected to a unix socket, or `nil` if the system does not say.
    package static func peerProcess(of socket: OwnedDescriptor) -> pid_t? {
        #if os(Linux)
        // The C type `ucred`: the process, the user and the group.
        var peer: (pid_t, uid_t, gid_t) = (0, 0, 0)
        var length = socklen_t(MemoryLayout<(pid_t, uid_t, gid_t)>.size)
        let found = getsockopt(socket.number, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0
        return found ? peer.0 : nil
        #else
        var peer: pid_t = 0
        var length = socklen_t(MemoryLayout<pid_t>.size)
        return getsockopt(socket.number, SOL_LOCAL, LOCAL_PEERPID, &peer, &length) == 0 ? peer : nil
        #endif
    }

    /// Returns the user of the process that has connected to a unix socket, or `nil` if the system does not say.
    package static func peerUser(of socket: OwnedDescriptor) -> uid_t? {
        #if os(Linux)
        // The C type `ucred`: the process, the user and the group.
        var peer: (pid_t, uid_t, gid_t) = (0, 0, 0)
        var length = socklen_t(MemoryLayout<(pid_t, uid_t, gid_t)>.size)
        let found = getsockopt(socket.number, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0
        return found ? peer.1 : nil
        #else
        var (user, group) = (uid_t(0), gid_t(0))
        return getpeereid(socket.number, &user, &group) == 0 ? user : nil
        #endif
    }

    package static func errorText(_ code: Int32) -> String {
        let text = String(cString: strerror(code))
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}
