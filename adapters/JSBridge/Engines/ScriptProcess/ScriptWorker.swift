#if JavaScriptCore
import AdapterSupport
import Logging
import SignalboxCore
import Synchronization

/// The entry point of a page's process. See ``ScriptProcess``.
///
/// ```swift
/// @main
/// struct PageWorker {
///     static func main() async {
///         await ScriptWorker.serve()
///     }
/// }
/// ```
public enum ScriptWorker {
    /// Serves one page over descriptor 3, and exits when the page ends.
    ///
    /// The program that a ``ScriptProcess`` runs must call this function first, while no other thread is running.
    public static func serve() async -> Never {
        limitResources()
        let socket = WorkerSocket()
        let begun = Promise<Task<JSBridgeError?, Never>>()
        do throws(SystemResourceError) {
            let thread = try OwnedThread {
                var page: WorkerPage?
                // The program's first frame can hold scripts of any length.
                socket.readAll(limit: 1 << 30) { frame in
                    if let page { return page.take(frame) }
                    let first = WorkerPage(frame, socket)
                    begun.set(first.run)
                    page = first
                }
                // The program has ended.
                _exit(0)
            }
            thread.detach()
        } catch {
            _exit(1)
        }
        terminate(socket, await begun.value().value)
    }

    /// Reports to the program how the page ended, and ends the process.
    fileprivate static func terminate(_ socket: WorkerSocket, _ failure: JSBridgeError?) -> Never {
        let texts = [failure?.code.description ?? "", failure?.detail ?? ""]
        socket.send(WorkerFrame(kind: .ended, texts: texts.map { Array($0.utf8) }))
        _exit(0)
    }

    /// Limits the process's files and core dumps, because a page needs no files and its memory must not end up in a
    /// core file.
    private static func limitResources() {
        setLimit(RLIMIT_CORE, to: 0)
        setLimit(RLIMIT_FSIZE, to: 0)
        setLimit(RLIMIT_NOFILE, to: 64)
        signal(SIGPIPE, SIG_IGN)
        // Standard error may be a file, to which RLIMIT_FSIZE applies.
        signal(SIGXFSZ, SIG_IGN)
    }

    #if canImport(Glibc)
    private static func setLimit(_ resource: __rlimit_resource, to value: rlim_t) {
        var limit = rlimit(rlim_cur: value, rlim_max: value)
        setrlimit(__rlimit_resource_t(resource.rawValue), &limit)
    }
    #else
    private static func setLimit(_ resource: Int32, to value: rlim_t) {
        var limit = rlimit(rlim_cur: value, rlim_max: value)
        setrlimit(resource, &limit)
    }
    #endif
}

/// The page in its process. It runs an engine whose intake sends the page's messages to the program. It is confined to
/// the thread that reads the socket.
private struct WorkerPage {
    private let socket: WorkerSocket
    private let intake: WorkerIntake
    private let engine: JavaScriptCoreEngine
    /// The task of the page's run, which returns the run's failure, if any.
    let run: Task<JSBridgeError?, Never>

    /// Starts the page with the configuration from the program's first frame, or ends the process if that fails.
    init(_ frame: WorkerFrame, _ socket: WorkerSocket) {
        let json = Bytes(frame.texts.first ?? [])
        // The text's length also serves as its limit, because the program is trusted.
        let limits = MessageLimits(bytes: max(json.count, 1))
        guard frame.kind == .begin,
            let received = try? Body(json: json, limits: limits).decode(WorkerConfiguration.self)
        else { _exit(1) }
        let logger = Logger(label: "page") { _ in WorkerLog(socket) }
        let engine: JavaScriptCoreEngine
        do throws(JSBridgeError) {
            engine = try JavaScriptCoreEngine(received.configuration, logger: logger) { error in
                ScriptWorker.terminate(socket, error)
            }
        } catch {
            ScriptWorker.terminate(socket, error)
        }
        let intake = WorkerIntake(socket)
        run = Task {
            do {
                try await engine.run(into: intake)
                return nil
            } catch {
                return error as? JSBridgeError
            }
        }
        (self.socket, self.intake, self.engine) = (socket, intake, engine)
    }

    /// Handles a frame from the program.
    func take(_ frame: WorkerFrame) {
        switch frame.kind {
        case .accepted: intake.accepted(frame)
        case .settled: intake.settled(frame)
        case .message: deliver(frame)
        case .stop: run.cancel()
        case .begin, .call, .answer, .log, .ended: break
        }
    }

    private func deliver(_ frame: WorkerFrame) {
        guard let action = try? ActionName(frame.text(0)) else { return }
        let id = ActionID(frame.text(1))
        let body = Bytes(frame.texts.count > 2 ? frame.texts[2] : [])
        guard frame.number > 0 else {
            try? engine.page.send(action, id: id, body: body)
            return
        }
        Task { [socket, engine] in
            var answer = WorkerFrame(kind: .answer, number: frame.number)
            do throws(PageCallError) {
                // The program has its own timeout and ignores late answers.
                let reply = try await engine.mailbox.call(action, body: body, timeout: .seconds(86_400))
                answer.texts = [Array("returned".utf8)] + (reply.map { [Array($0)] } ?? [])
            } catch {
                answer.texts = [Array(error.code.description.utf8), Array(error.detail.utf8)]
            }
            socket.send(answer)
        }
    }
}

/// Sends log lines to the program as frames.
private struct WorkerLog: LogHandler {
    let socket: WorkerSocket
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .trace

    init(_ socket: WorkerSocket) {
        self.socket = socket
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var frame = WorkerFrame(kind: .log)
        frame.value = UInt64(Logger.Level.allCases.firstIndex(of: event.level) ?? 0)
        frame.texts = [Array("\(event.message)".utf8)]
        socket.send(frame)
    }
}

/// The intake in a page's process. It accepts all arrivals, because writing blocks until the program has room.
final class WorkerIntake: Intake {
    private let socket: WorkerSocket
    private let sinks = Mutex<[UInt64: any SettlementSink]>([:])

    init(_ socket: WorkerSocket) {
        self.socket = socket
    }

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        sinks.withLock { sinks in
            for arrival in batch { sinks[arrival.token] = sink }
        }
        for arrival in batch { socket.send(WorkerIntake.frame(arrival)) }
        return batch.count
    }

    func room() async throws(SourceClosed) {}

    /// Passes on that a call is accepted. Its outcome follows.
    func accepted(_ frame: WorkerFrame) {
        sinks.withLock { $0[frame.number] }?.accepted(frame.number)
    }

    /// Passes a call's outcome to its sink.
    func settled(_ frame: WorkerFrame) {
        guard let sink = sinks.withLock({ $0.removeValue(forKey: frame.number) }) else { return }
        sink.settle(frame.number, frame.outcome)
    }

    /// Encodes a message's original bytes, which the program parses again because it does not rely on how this process
    /// read them.
    private static func frame(_ arrival: Arrival) -> WorkerFrame {
        var frame = WorkerFrame(kind: .call, number: arrival.token)
        frame.texts = [Array(arrival.original), []]
        switch arrival.reading {
        case .success(let action):
            if arrival.envelope == .handler { frame.texts[1] = Array(action.name.bytes) }
            if let deadline = action.deadline {
                let left: Double = ContinuousClock.now.duration(to: deadline) / .microseconds(1)
                frame.value = UInt64(max(1, left))
            }
        case .failure(let rejection):
            if let error = rejection.bodyError {
                // A third text marks a truncated message. The program detects every other error itself.
                if error.code == .tooLarge { frame.texts.append([]) }
            } else {
                // This text is not a valid action name, and neither was the handler's name.
                frame.texts[1] = Array("?".utf8)
            }
        }
        return frame
    }
}

/// The socket in a page's process. Writing can block, which also blocks the script.
final class WorkerSocket: Sendable {
    /// The socket's descriptor.
    static let descriptor: Int32 = 3

    private let writing = Mutex(())

    /// Writes a whole frame. Errors are ignored, because they mean that the program has ended. Safe to call from any
    /// thread.
    func send(_ frame: WorkerFrame) {
        let bytes = frame.bytes
        writing.withLock { _ in
            bytes.withUnsafeBytes { all in
                var done = 0
                while done < all.count, let start = all.baseAddress {
                    let count = write(WorkerSocket.descriptor, start + done, all.count - done)
                    if count < 0 && errno == EINTR { continue }
                    guard count > 0 else { return }
                    done += count
                }
            }
        }
    }

    /// Reads frames on this thread until the socket closes, which means that the program has ended.
    func readAll(limit: Int, _ take: (WorkerFrame) -> Void) {
        var reader = WorkerFrameReader(limit: limit)
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(WorkerSocket.descriptor, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return }
            chunk.withUnsafeBytes { reader.take(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            while let frame = try? reader.next() { take(frame) }
        }
    }
}
#endif
