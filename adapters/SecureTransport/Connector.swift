import AdapterSupport
import SignalboxCore

/// Connects to one of several addresses, as ``AddressRace`` decides.
enum TCPConnector {
    /// - Parameter addresses: Numeric addresses, in the system's order of preference.
    /// - Returns: The first connected socket, or `nil` if the thread is stopping.
    static func connect(
        to addresses: [String],
        _ port: UInt16,
        _ wait: DialWait
    ) throws(LinkError) -> OwnedDescriptor? {
        var race = AddressRace(addresses)
        var attempts: [OwnedDescriptor] = []
        var reason = "the host has no address"
        while !wait.isStopping() {
            while let address = race.next(at: .now) {
                switch try start(address, port) {
                case .connected(let socket): return socket
                case .pending(let socket): attempts.append(socket)
                case .failed(let text):
                    reason = text
                    race.attemptFailed()
                case .busy: race.attemptFailed()
                }
            }
            guard !race.isLost else { throw .unreachable(reason) }
            // In reverse, so that removing one does not move those still to be looked at.
            for index in try wait.writable(attempts, until: race.wakeUp).reversed() {
                let error = ConnectAttempt.error(of: attempts[index])
                guard error != 0 else { return attempts[index] }
                reason = StreamSocket.errorText(error)
                attempts.remove(at: index)
                race.attemptFailed()
            }
        }
        return nil
    }

    private static func start(_ address: String, _ port: UInt16) throws(LinkError) -> ConnectAttempt {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        hints.ai_socktype = StreamSocket.type
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(address, "\(port)", &hints, &list)
        guard code == 0, let entry = list else { return .failed(String(cString: gai_strerror(code))) }
        defer { freeaddrinfo(list) }
        let attempt = try ConnectAttempt.start(entry.pointee.ai_family) { socket in
            // Small packets must not wait for the acknowledgement of earlier ones.
            var yes: Int32 = 1
            setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
            return AdapterSupport.connect(socket, entry.pointee.ai_addr, entry.pointee.ai_addrlen)
        }
        return attempt
    }
}

/// Connects to a unix socket.
enum UnixConnector {
    /// How long to wait before another attempt while the server's queue of connections is full. Linux has no event for
    /// it (connect(2), `EAGAIN`).
    private static let pause = Duration.milliseconds(20)

    /// The maximum length of a path in bytes (`sun_path` of unix(7) without its NUL): 107 on Linux, 103 on macOS.
    static let pathLimit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// - Returns: The connected socket, or `nil` if the thread is stopping.
    static func connect(to path: String, _ wait: DialWait) throws(LinkError) -> OwnedDescriptor? {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw .unreachable("the path is empty or contains a NUL") }
        guard path.utf8.count <= pathLimit else {
            throw .unreachable("the path has \(path.utf8.count) bytes, which is more than \(pathLimit)")
        }
        var pending: OwnedDescriptor?
        while !wait.isStopping() {
            guard let socket = pending else {
                switch try start(path) {
                case .connected(let socket): return socket
                case .pending(let socket): pending = socket
                case .failed(let text): throw .unreachable(text)
                case .busy: _ = try wait.writable([], until: .now + pause)
                }
                continue
            }
            guard try !wait.writable([socket]).isEmpty else { continue }
            let error = ConnectAttempt.error(of: socket)
            guard error == 0 else { throw .unreachable(StreamSocket.errorText(error)) }
            return socket
        }
        return nil
    }

    private static func start(_ path: String) throws(LinkError) -> ConnectAttempt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(pathLimit)) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        return try ConnectAttempt.start(AF_UNIX) { socket in
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { AdapterSupport.connect(socket, $0, length) }
            }
        }
    }
}

/// How the start of an attempt to connect ended.
private enum ConnectAttempt {
    case connected(OwnedDescriptor)
    /// The socket becomes writable when the attempt has ended.
    case pending(OwnedDescriptor)
    case failed(String)
    /// The server, on this machine, accepts no connection at the moment.
    case busy

    /// Makes a socket and connects it.
    ///
    /// - Parameter connect: Calls `connect` for the socket.
    /// - Throws: ``LinkError`` `noResources` if there can be no socket.
    static func start(_ family: Int32, _ connect: (Int32) -> Int32) throws(LinkError) -> ConnectAttempt {
        guard let socket = StreamSocket.make(family) else {
            let code = errno
            // A system without this family of addresses may have the other one.
            guard code == EAFNOSUPPORT else { throw .noResources(StreamSocket.errorText(code)) }
            return .failed(StreamSocket.errorText(code))
        }
        guard connect(socket.number) != 0 else { return .connected(socket) }
        let code = errno
        switch code {
        case EINPROGRESS, EINTR: return .pending(socket)
        case EAGAIN where family == AF_UNIX: return .busy
        default: return .failed(StreamSocket.errorText(code))
        }
    }

    /// The error of an attempt that has ended, or 0 if the socket is connected.
    static func error(of socket: OwnedDescriptor) -> Int32 {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        let isKnown = getsockopt(socket.number, SOL_SOCKET, SO_ERROR, &error, &length) == 0
        return isKnown ? error : errno
    }
}
