import AdapterSupport

/// Unix sockets that have a path (unix(7)).
enum UnixSocket {
    /// Listens at a path, as its only listener. A socket without a listener is replaced; any other file is not.
    static func listen(at path: String) throws(ControlSocketError) -> OwnedDescriptor {
        guard path.utf8.count <= UnixAddress.pathLimit else {
            throw ControlSocketError(
                path,
                "the path has more than \(UnixAddress.pathLimit) bytes; choose a shorter one"
            )
        }
        guard let socket = StreamSocket.make(AF_UNIX) else { throw ControlSocketError(path, errno) }
        var bound = bind(socket, to: path)
        if !bound, errno == EADDRINUSE {
            try removeLeftover(at: path)
            bound = bind(socket, to: path)
        }
        guard bound else { throw ControlSocketError(path, errno) }
        // A connection is possible only after listen(2), so nobody connects with other permissions.
        guard chmod(path, S_IRUSR | S_IWUSR) == 0, AdapterSupport.listen(socket.number, 16) == 0 else {
            let code = errno
            unlink(path)
            throw ControlSocketError(path, code)
        }
        return socket
    }

    /// Connects to the listener at a path. If many others connect at the same time, this waits for a short while.
    static func connect(to path: String) throws(ControlSocketError) -> OwnedDescriptor {
        for _ in 0..<50 {
            do throws(ControlSocketError) { return try attempt(to: path) } catch {
                guard error.code == EAGAIN else { throw error }
            }
            usleep(100_000)
        }
        throw ControlSocketError(path, "the program does not accept the connection")
    }

    private static func attempt(to path: String) throws(ControlSocketError) -> OwnedDescriptor {
        guard path.utf8.count <= UnixAddress.pathLimit else {
            throw ControlSocketError(path, ENAMETOOLONG)
        }
        guard let socket = StreamSocket.make(AF_UNIX) else { throw ControlSocketError(path, errno) }
        let result = UnixAddress.with(path) { AdapterSupport.connect(socket.number, $0, $1) }
        guard result == 0 else { throw ControlSocketError(path, errno) }
        return socket
    }

    /// Whether the process at the other end belongs to the user who runs this one, or to root.
    static func isTrusted(_ socket: OwnedDescriptor) -> Bool {
        guard let user = StreamSocket.peerUser(of: socket) else { return false }
        return user == geteuid() || user == 0
    }

    private static func bind(_ socket: OwnedDescriptor, to path: String) -> Bool {
        UnixAddress.with(path) { AdapterSupport.bind(socket.number, $0, $1) } == 0
    }

    private static func removeLeftover(at path: String) throws(ControlSocketError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw ControlSocketError(path, "the file is no socket; remove it or choose another path")
        }
        let inUse = ControlSocketError(path, "another program uses it; end that one or choose another path")
        do throws(ControlSocketError) { _ = try attempt(to: path) } catch {
            // Any other failure, such as a full queue, comes from a program that listens.
            guard error.code == ECONNREFUSED else { throw inUse }
            unlink(path)
            return
        }
        throw inUse
    }
}
