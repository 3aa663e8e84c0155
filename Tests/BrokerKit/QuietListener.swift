import Foundation

/// A loopback port on which something listens and nobody answers: for programs that must not connect.
public final class QuietListener: Sendable {
    /// The port it listens on.
    public let port: Int
    private let listener: Int32

    /// Starts to listen.
    public init() throws {
        let listener = try LoopbackPort.makeSocket()
        var address = LoopbackPort.loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
                bind(listener, general, length) == 0 && getsockname(listener, general, &length) == 0
            }
        }
        guard bound, listen(listener, 16) == 0, fcntl(listener, F_SETFL, O_NONBLOCK) == 0 else {
            throw BrokerKitError("no loopback port is free")
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        self.listener = listener
    }

    deinit {
        close(listener)
    }

    /// Whether somebody has connected since the last call.
    public func takeConnection() -> Bool {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return false }
        close(client)
        return true
    }

    /// Connects to it, as a program would.
    public func connect() throws -> Bool { try LoopbackPort.isOpen(port) }
}
