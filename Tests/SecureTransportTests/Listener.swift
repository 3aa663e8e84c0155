import AdapterSupport
import SecureTransport
import Testing

/// A TCP socket on this machine that listens.
final class Listener: Sendable {
    let socket: OwnedDescriptor
    let port: UInt16

    /// - Parameters:
    ///   - address: The loopback address.
    ///   - port: The port, or 0 for any.
    ///   - backlog: How many connections the system accepts by itself.
    init(on address: UInt32 = 0x7F00_0001, port wanted: UInt16 = 0, backlog: Int32 = 8) throws {
        socket = try #require(StreamSocket.make(AF_INET))
        var address = Listener.address(address, wanted)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let number = socket.number
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(number, $0, length) == 0 && listen(number, backlog) == 0 && getsockname(number, $0, &length) == 0
            }
        }
        try #require(isListening)
        port = UInt16(bigEndian: address.sin_port)
    }

    private static func address(_ number: UInt32, _ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = number.bigEndian
        return address
    }

    /// Starts to connect, and returns the socket in any case.
    func startClient() throws -> OwnedDescriptor {
        let client = try #require(StreamSocket.make(AF_INET))
        var address = Listener.address(0x7F00_0001, port)
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(client.number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return client
    }

    func connectedClient() throws -> OwnedDescriptor {
        let client = try startClient()
        try #require(SocketWait(socket: client.number, for: .writable, wake: -1, limit: .seconds(5)).isReady)
        return client
    }

    /// Waits for the next connection.
    func accept() throws -> OwnedDescriptor {
        try #require(SocketWait(socket: socket.number, for: .readable, wake: -1, limit: .seconds(5)).isReady)
        return try #require(StreamSocket.accept(on: socket))
    }

    /// Fills the queue, so that the system answers no further connection. Returns the sockets that fill it.
    func fill() throws -> [OwnedDescriptor] {
        var clients: [OwnedDescriptor] = []
        repeat {
            clients.append(try startClient())
            try #require(clients.count < 50)
        } while SocketWait(socket: clients.last?.number ?? -1, for: .writable, wake: -1, limit: .milliseconds(200))
            .isReady
        return clients
    }
}

/// A unix socket that listens. Its path is removed at the end.
final class UnixListener {
    let socket: OwnedDescriptor
    private let path: String

    init(_ path: String, backlog: Int32 = 8) throws {
        self.path = path
        socket = try #require(StreamSocket.make(AF_UNIX))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count)) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let number = socket.number
        let isListening = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(number, $0, length) == 0 }
        }
        try #require(isListening && listen(number, backlog) == 0)
    }

    deinit {
        unlink(path)
    }
}
