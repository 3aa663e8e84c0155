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
                switch ConnectAttempt.start(address, port) {
                case .connected(let socket): return socket
                case .pending(let socket): attempts.append(socket)
                case .failed(let text):
                    reason = text
                    race.attemptFailed()
                case .busy: race.attemptFailed()
                case .noResources(let text): throw .noResources(text)
                }
            }
            guard !race.isLost else { throw .unreachable(reason) }
            // In reverse, so that removing one does not move those still to be looked at.
            for index in try wait.writable(attempts, until: race.wakeUp).reversed() {
                guard let failure = ConnectAttempt.failure(of: attempts[index]) else { return attempts[index] }
                reason = failure
                attempts.remove(at: index)
                race.attemptFailed()
            }
        }
        return nil
    }
}

/// Connects to a unix socket.
enum UnixConnector {
    /// How long to wait before another attempt while the server's queue of connections is full.
    private static let pause = Duration.milliseconds(20)

    /// - Returns: The connected socket, or `nil` if the thread is stopping.
    static func connect(to path: String, _ wait: DialWait) throws(LinkError) -> OwnedDescriptor? {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw .unreachable("the path is empty or contains a NUL") }
        guard path.utf8.count <= UnixAddress.pathLimit else {
            throw .unreachable("the path has \(path.utf8.count) bytes, which is more than \(UnixAddress.pathLimit)")
        }
        var pending: OwnedDescriptor?
        while !wait.isStopping() {
            guard let socket = pending else {
                switch ConnectAttempt.start(unixSocket: path) {
                case .connected(let socket): return socket
                case .pending(let socket): pending = socket
                case .failed(let text): throw .unreachable(text)
                case .busy: _ = try wait.writable([], until: .now + pause)
                case .noResources(let text): throw .noResources(text)
                }
                continue
            }
            guard try !wait.writable([socket]).isEmpty else { continue }
            if let failure = ConnectAttempt.failure(of: socket) { throw .unreachable(failure) }
            return socket
        }
        return nil
    }
}
