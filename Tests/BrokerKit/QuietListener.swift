import Foundation

/// A loopback port on which something listens and nobody answers: for programs that must not connect.
public final class QuietListener: Sendable {
    /// The port it listens on.
    public let port: Int
    private let listener: Int32

    /// Starts to listen.
    public init() throws {
        let (listener, port) = try LoopbackPort.listening()
        _ = fcntl(listener, F_SETFL, O_NONBLOCK)
        self.port = Int(port)
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
