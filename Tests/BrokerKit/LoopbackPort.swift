import Foundation
import Synchronization

/// Helpers for TCP sockets on the loopback interface.
public enum LoopbackPort {
    /// Returns a listening socket, which the caller closes, and its port.
    public static func listening(backlog: Int32 = 128) throws -> (socket: Int32, port: UInt16) {
        let (socket, port) = try bound(isShared: false)
        guard listen(socket, backlog) == 0 else {
            close(socket)
            throw BrokerKitError("cannot listen on the loopback interface (errno \(errno))")
        }
        return (socket, port)
    }

    /// Returns a socket that does not listen. Connections to its port are refused until the caller closes the socket, and no
    /// other program can take the port meanwhile.
    public static func refusing() throws -> (socket: Int32, port: UInt16) { try bound(isShared: false) }

    /// Returns a listening Unix socket, which the caller closes. If the path begins with `@`, the rest names an abstract
    /// socket.
    static func listening(unixSocket path: String) throws -> Int32 {
        let socket = try makeSocket(AF_UNIX)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = path.hasPrefix("@") ? [0] + path.utf8.dropFirst() : Array(path.utf8)
        let offset = MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 0
        withUnsafeMutableBytes(of: &address) { $0[offset...].copyBytes(from: bytes) }
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(offset + bytes.count)) == 0 && listen(socket, 128) == 0
            }
        }
        guard isBound else {
            close(socket)
            throw BrokerKitError("cannot listen on the Unix socket (errno \(errno))")
        }
        return socket
    }

    /// Returns a Unix socket for datagrams, which the caller closes.
    static func datagramSocket(at path: String) throws -> Int32 {
        let made = makeDatagramSocket()
        guard made >= 0, unixAddress(path, { bind(made, $0, $1) }) == 0 else {
            throw BrokerKitError("cannot bind a Unix socket for datagrams (errno \(errno))")
        }
        return made
    }

    /// Sends a datagram to the Unix socket at a path.
    static func sendDatagram(_ text: String, to path: String) -> Bool {
        let made = makeDatagramSocket()
        defer { close(made) }
        let bytes = Array(text.utf8)
        return unixAddress(path) { sendto(made, bytes, bytes.count, 0, $0, $1) } == bytes.count
    }

    private static func makeDatagramSocket() -> Int32 {
        #if canImport(Glibc)
        socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        #else
        socket(AF_UNIX, SOCK_DGRAM, 0)
        #endif
    }

    private static func unixAddress<R>(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path) - 1
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(room)) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// Returns a bound socket, which the caller closes, and its port, which was free before.
    ///
    /// - Parameter isShared: Whether one more socket with this option may bind to the port (socket(7), SO_REUSEADDR).
    static func bound(isShared: Bool) throws -> (socket: Int32, port: UInt16) {
        let socket = try makeSocket()
        if isShared { share(socket) }
        var address = loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
                bind(socket, general, length) == 0 && getsockname(socket, general, &length) == 0
            }
        }
        guard bound else {
            close(socket)
            throw BrokerKitError("no loopback port is free (errno \(errno))")
        }
        return (socket, UInt16(bigEndian: address.sin_port))
    }

    /// Returns a socket that is bound to one port on every address of IPv6 and IPv4, and this port, which was free on all of
    /// them before. One more socket with SO_REUSEADDR may bind to it. The caller closes the socket.
    ///
    /// - Returns: `nil` if this system has no IPv6.
    static func boundToEveryAddress() -> (socket: Int32, port: UInt16)? {
        guard let socket = try? makeSocket(AF_INET6) else { return nil }
        share(socket)
        var (only, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        setsockopt(socket, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &only, size)
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
                bind(socket, general, size) == 0 && getsockname(socket, general, &size) == 0
            }
        }
        guard isBound else {
            close(socket)
            return nil
        }
        return (socket, UInt16(bigEndian: address.sin6_port))
    }

    private static func share(_ socket: Int32) {
        var on: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Returns whether a server listens on the port.
    static func isOpen(_ port: Int) throws -> Bool {
        let socket = try makeSocket()
        defer { close(socket) }
        return connects(socket, to: UInt16(port))
    }

    /// Connects a socket, waiting until it is connected.
    public static func connects(_ socket: Int32, to port: UInt16) -> Bool {
        var address = loopback(port: port)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    /// Binds a socket to 127.0.0.`host`. On Linux all these addresses are local.
    static func binds(_ socket: Int32, toHost host: UInt8) -> Bool {
        var address = loopback(port: 0)
        address.sin_addr.s_addr = (0x7F00_0000 | in_addr_t(host)).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    /// Returns a TCP socket for IPv4, which the caller closes. Programs started later do not inherit it.
    public static func makeSocket() throws -> Int32 { try makeSocket(AF_INET) }

    private static func makeSocket(_ family: Int32) throws -> Int32 {
        #if os(Linux)
        let kind = Int32(SOCK_STREAM.rawValue)
        #else
        let kind = SOCK_STREAM
        #endif
        let made = socket(family, kind, 0)
        guard made >= 0 else { throw BrokerKitError("cannot create a socket (errno \(errno))") }
        _ = fcntl(made, F_SETFD, FD_CLOEXEC)
        return made
    }

    /// Accepts the next connection. Programs started later do not inherit it.
    ///
    /// - Returns: The connection's descriptor; less than 0 if the socket was shut down.
    public static func accept(on socket: Int32) -> Int32 {
        while true {
            let accepted = Foundation.accept(socket, nil, nil)
            if accepted >= 0 {
                _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
                return accepted
            }
            guard [EINTR, ECONNABORTED].contains(errno) else { return accepted }
        }
    }

    private static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}

/// Reserves a loopback port for a test's server. On Linux the system gives the port to no other socket while this
/// object exists, even before the server starts and after it ends.
public final class PortReservation: Sendable {
    /// The port.
    public let port: Int
    private let socket: Mutex<Int32>

    /// - Parameter everyAddress: Whether the server binds to every address of the machine, on which the port must then be free
    ///   too. Clients of other tests, whose ports the system chooses, may have it on one of them.
    /// - Throws: ``BrokerKitError`` if the system has no free port.
    public init(everyAddress: Bool = false) throws {
        let every = everyAddress ? LoopbackPort.boundToEveryAddress() : nil
        let (socket, port) = try every ?? LoopbackPort.bound(isShared: true)
        self.port = Int(port)
        self.socket = Mutex(socket)
        #if !os(Linux)
        // On other systems the socket would keep the server itself from binding.
        release()
        #endif
    }

    deinit {
        release()
    }

    private func release() {
        socket.withLock { socket in
            if socket >= 0 { close(socket) }
            socket = -1
        }
    }
}

/// A loopback listener that never answers, for tests of programs that must not connect.
public final class QuietListener: Sendable {
    /// The listening port.
    public let port: Int
    private let listener: Int32

    /// Starts listening.
    public init() throws {
        let (listener, port) = try LoopbackPort.listening()
        _ = fcntl(listener, F_SETFL, O_NONBLOCK)
        self.port = Int(port)
        self.listener = listener
    }

    deinit {
        close(listener)
    }

    /// Returns whether a client has connected since the last call.
    public func takeConnection() -> Bool {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return false }
        close(client)
        return true
    }

    /// Connects to the listener, as a program under test would.
    public func connect() throws -> Bool { try LoopbackPort.isOpen(port) }
}
