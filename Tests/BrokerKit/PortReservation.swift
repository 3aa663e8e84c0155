import Foundation

/// Keeps a loopback port for a test's server. On Linux the system gives the port to no other socket while this object lives, before
/// the server starts and after it ends too.
public final class PortReservation: Sendable {
    /// The port.
    public let port: Int
    private let socket: Int32

    /// - Throws: ``BrokerKitError`` when the system has no port left.
    public init() throws {
        let (socket, port) = try LoopbackPort.bound(isShared: true)
        self.port = Int(port)
        #if os(Linux)
        self.socket = socket
        #else
        // Elsewhere a server could not bind to it either.
        close(socket)
        self.socket = -1
        #endif
    }

    deinit {
        if socket >= 0 { close(socket) }
    }
}
