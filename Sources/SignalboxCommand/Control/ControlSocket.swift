import AdapterSupport
import SignalboxCore
import Synchronization

/// The Unix socket on which the running program answers commands. Only the user who runs the program, and root, can connect.
///
/// One thread serves all connections, and hands each request to a task.
final class ControlSocket: Sendable {
    /// The maximum number of commands that are connected at the same time. A further one is refused and, if as many have been
    /// refused and stay, closed without an answer.
    static let connectionLimit = 16
    /// How long the end waits until commands have read their answers.
    static let endLimit = Duration.seconds(1)
    /// How long the socket accepts nothing after the system had no descriptor.
    private static let pause = Duration.milliseconds(100)

    /// Answers a request. The connection reads the next request when the answer has ended.
    typealias Answering = @Sendable (Bytes, ControlConnection) async -> Void

    private let path: String
    private let listener: OwnedDescriptor
    private let identity: FileIdentity
    private let wake: WakeSignal
    private let lineLimit: @Sendable () -> Int
    private let answering: Answering
    private let isEnding = Atomic<Bool>(false)
    private let ended = Promise<Void>()

    /// Opens the socket. A socket that a program has left behind is replaced.
    ///
    /// - Parameters:
    ///   - path: The path, relative to the working directory.
    ///   - lineLimit: Returns the maximum size of a request on a new connection, in bytes.
    /// - Throws: ``ControlSocketError``. A path that is in use is one.
    init(path: String, lineLimit: @escaping @Sendable () -> Int, answering: @escaping Answering)
        throws(ControlSocketError)
    {
        (self.path, self.lineLimit, self.answering) = (path, lineLimit, answering)
        listener = try UnixSocket.listen(at: path)
        guard let identity = FileIdentity(path: path) else {
            throw ControlSocketError(path, "the socket has disappeared")
        }
        self.identity = identity
        do throws(SystemResourceError) {
            wake = try WakeSignal()
            try OwnedThread { [self] in serve() }.detach()
        } catch {
            unlink(path)
            throw ControlSocketError(path, "\(error)")
        }
    }

    /// Closes the socket and removes its path. Commands get the rest of their answers first, for at most ``endLimit``.
    func close() async {
        isEnding.store(true, ordering: .releasing)
        wake.wake()
        await ended.value()
    }

    // MARK: - The thread

    private func serve() {
        var connections: [ControlConnection] = []
        // Without a free descriptor, the listener stays readable and nothing can be accepted.
        var isExhausted = false
        var deadline: ContinuousClock.Instant?
        while deadline.map({ connections.contains(where: \.isBusy) && .now < $0 }) ?? true {
            let ready = wait(
                for: connections,
                until: isExhausted ? .now + ControlSocket.pause : deadline,
                accepts: !isExhausted
            )
            for (connection, events) in zip(connections, ready.connections) { handle(connection, events) }
            isExhausted = ready.listener && deadline == nil && !accept(&connections)
            for connection in connections where connection.hasEnded { connection.close() }
            connections.removeAll { $0.hasEnded }
            if deadline == nil, isEnding.load(ordering: .acquiring) { deadline = .now + ControlSocket.endLimit }
        }
        for connection in connections { connection.close() }
        // Another program may have replaced the path.
        if FileIdentity(path: path) == identity { unlink(path) }
        ended.set(())
    }

    private struct Ready {
        let listener: Bool
        let connections: [Int16]
    }

    private func wait(
        for connections: [ControlConnection],
        until deadline: ContinuousClock.Instant?,
        accepts: Bool
    ) -> Ready {
        var waited = [pollfd(fd: accepts ? listener.number : -1, events: Int16(POLLIN), revents: 0)]
        waited.append(pollfd(fd: wake.readEnd, events: Int16(POLLIN), revents: 0))
        waited += connections.map { pollfd(fd: $0.socket.number, events: $0.interest, revents: 0) }
        let limit = deadline.map { max(.zero, $0 - .now).pollMilliseconds } ?? -1
        guard poll(&waited, nfds_t(waited.count), limit) > 0 else {
            return Ready(listener: false, connections: connections.map { _ in 0 })
        }
        if waited[1].revents != 0 { wake.drain() }
        return Ready(listener: waited[0].revents != 0, connections: waited.dropFirst(2).map(\.revents))
    }

    private func handle(_ connection: ControlConnection, _ events: Int16) {
        if events & Int16(POLLERR | POLLNVAL) != 0 { return connection.close() }
        if events & Int16(POLLIN) != 0 { connection.read() }
        connection.send()
        // A command that has left behind a request, and waits for no answer.
        if events & Int16(POLLHUP) != 0, !connection.hasRequest { return connection.close() }
        do throws(ControlRefusal) {
            guard let line = try connection.takeLine() else { return }
            Task { [answering] in
                await answering(line, connection)
                connection.endAnswer()
            }
        } catch {
            connection.write(error.line)
        }
    }

    /// Returns `false` if the system has no descriptor for the connection.
    private func accept(_ connections: inout [ControlConnection]) -> Bool {
        guard let socket = StreamSocket.accept(on: listener) else { return errno != EMFILE && errno != ENFILE }
        let connection = ControlConnection(socket, lineLimit: lineLimit(), wake: wake)
        let limit = ControlSocket.connectionLimit
        guard UnixSocket.isTrusted(socket), connections.count < 2 * limit else { return true }
        if connections.count(where: { !$0.isRefused }) >= limit {
            connection.refuse(ControlRefusal(.busy, "\(limit) commands are connected; end one of them"))
        }
        connections.append(connection)
        return true
    }
}

/// Why the socket cannot be used.
struct ControlSocketError: Error, Sendable, CustomStringConvertible {
    let path: String
    let detail: String
    /// The error of the system, or `nil` if another reason is known.
    let code: Int32?

    init(_ path: String, _ detail: String) { (self.path, self.detail, code) = (path, detail, nil) }

    init(_ path: String, _ code: Int32) {
        (self.path, self.code) = (path, code)
        detail = StreamSocket.errorText(code)
    }

    var description: String { "the control socket \(path): \(detail)" }
}
