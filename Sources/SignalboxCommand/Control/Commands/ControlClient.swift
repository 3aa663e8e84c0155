import AdapterSupport
import Dispatch
import SignalboxCore
import Synchronization

/// A command's connection to the running program. It is used by one task at a time.
final class ControlClient: Sendable {
    private let path: String
    private let socket: OwnedDescriptor
    private let reader: ControlLineReader

    /// Connects to the program that listens at a path.
    ///
    /// - Throws: ``CommandFailure`` that says what to do if no program does.
    init(path: String) throws(CommandFailure) {
        self.path = path
        do throws(ControlSocketError) {
            socket = try UnixSocket.connect(to: path)
        } catch {
            throw CommandFailure(
                .unavailable,
                "no program answers at \(path): \(error.detail); start it with 'signalbox run', or name its socket with "
                    + "--control"
            )
        }
        reader = ControlLineReader(socket)
    }

    /// How long a program that works needs for an answer about itself, at most.
    static let answerLimit = Duration.seconds(5)

    /// Sends a request and returns the first line of the answer.
    ///
    /// - Parameter limit: How long to wait for the answer, or `nil` for any time.
    func ask(_ request: ControlRequest, within limit: Duration? = nil) async throws(CommandFailure) -> [UInt8] {
        try send(request)
        guard let line = try await next(within: limit) else {
            guard reader.isLate else { throw ended }
            let cause = "the threads that run plugins may be blocked"
            throw CommandFailure(.unavailable, "the program at \(path) has not answered within 5 s; \(cause)")
        }
        return line
    }

    /// Sends a request. ``next()`` returns the lines of the answer.
    func send(_ request: ControlRequest) throws(CommandFailure) {
        var rest = request.line[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { StreamSocket.send($0, on: socket.number) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                _ = SocketWait(socket: socket.number, for: .writable, wake: -1, limit: .seconds(1))
            } else if errno != EINTR {
                throw ended
            }
        }
    }

    /// Waits for the next line of the answer.
    ///
    /// - Returns: The line with its line break, or `nil` if the program has closed the connection or the task is cancelled.
    /// - Throws: ``CommandFailure`` if the program refuses the request.
    func next(within limit: Duration? = nil) async throws(CommandFailure) -> [UInt8]? {
        guard let line = await reader.next(within: limit) else { return nil }
        if let refusal = try? ControlClient.decoded(line, as: Refusal.self) {
            throw CommandFailure(refusal.status, refusal.error.detail)
        }
        return line
    }

    /// Returns what a line of an answer says.
    static func decoded<Value: Decodable>(_ line: [UInt8], as type: Value.Type = Value.self) throws(CommandFailure)
        -> Value
    {
        do {
            return try Body(json: Bytes(line), limits: MessageLimits(bytes: 1 << 30, depth: 512)).decode(type)
        } catch {
            throw CommandFailure(.protocolBroken, "the program's answer cannot be read; it may have another version")
        }
    }

    /// The failure of a request without an answer.
    var ended: CommandFailure {
        CommandFailure(.unavailable, "the program at \(path) has closed the connection; it may have ended")
    }

    private struct Refusal: Decodable {
        struct Detail: Decodable {
            let code: String
            let detail: String
        }

        let error: Detail

        var status: CommandStatus {
            switch ControlRefusal.Code(rawValue: error.code) {
            case .readOnly: .refused
            case .invalidBody: .invalidConfiguration
            case .busy, .ending, .unknownRequest, nil: .unavailable
            case .invalidRequest: .usage
            }
        }
    }
}

/// Reads lines from a socket on a queue, because that may take any time.
private final class ControlLineReader: Sendable {
    private let socket: OwnedDescriptor
    private let queue = DispatchQueue(label: "signalbox.control")
    private let wake = try? WakeSignal()

    init(_ socket: OwnedDescriptor) { self.socket = socket }

    /// What was read, and not yet returned.
    private let buffer = Mutex<[UInt8]>([])

    /// Whether the last wait was too long.
    private let late = Atomic<Bool>(false)
    var isLate: Bool { late.load(ordering: .relaxed) }

    func next(within limit: Duration?) async -> [UInt8]? {
        let result = Promise<[UInt8]?>()
        return await withTaskCancellationHandler {
            queue.async { [self] in result.set(readLine(until: limit.map { .now + $0 })) }
            return await result.value()
        } onCancel: {
            wake?.wake()
        }
    }

    private func readLine(until deadline: ContinuousClock.Instant?) -> [UInt8]? {
        while true {
            if let line = takeLine() { return line }
            let left = deadline.map { $0 - .now } ?? .seconds(86_400)
            guard left > .zero else {
                late.store(true, ordering: .relaxed)
                return nil
            }
            let wait = SocketWait(
                socket: socket.number,
                for: .readable,
                wake: wake?.readEnd ?? -1,
                limit: left
            )
            guard !wait.isWoken else { return nil }
            guard wait.isReady else { continue }
            guard read() else { return nil }
        }
    }

    private func takeLine() -> [UInt8]? {
        buffer.withLock { bytes in
            guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            defer { bytes.removeFirst(end + 1) }
            return Array(bytes[...end])
        }
    }

    private func read() -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { room in
            let count = recv(socket.number, room.baseAddress, room.count, 0)
            guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
            buffer.withLock { $0 += room.prefix(count) }
            return true
        }
    }
}
