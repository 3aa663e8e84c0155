import Foundation

/// A port of the loopback interface for a server of the test's own, also before it has begun, and after it has ended: on Linux the
/// system gives the port to nobody else as long as this object lives.
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
