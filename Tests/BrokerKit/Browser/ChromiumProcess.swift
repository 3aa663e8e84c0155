import Foundation
import SignalboxTesting
import Synchronization

/// The browser's process, which leads the process group of its helpers, and the ends of two pipes to it.
final class ChromiumProcess: Sendable {
    private enum Life: Equatable { case running, ended }

    let id: pid_t
    /// The end from which the browser reads.
    let writeEnd: Int32
    /// The end to which the browser writes.
    let readEnd: Int32
    private let profile: URL
    private let life = Watched(Life.running)
    private let reaping = Mutex(false)

    /// The time the browser has to close itself.
    private static let closingSeconds = 10.0

    /// Starts the browser.
    init(_ path: String, _ arguments: [String]) throws {
        profile = FileManager.default.temporaryDirectory.appendingPathComponent("chromium-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: profile, withIntermediateDirectories: true)
        let toBrowser = try ChromiumProcess.pipe()
        let fromBrowser = try ChromiumProcess.pipe()
        defer {
            close(toBrowser.read)
            close(fromBrowser.write)
        }
        let all = [path] + arguments + ["--user-data-dir=\(profile.path)", "about:blank"]
        do {
            id = try ChromiumProcess.spawn(all, reading: toBrowser.read, writing: fromBrowser.write)
        } catch {
            close(toBrowser.write)
            close(fromBrowser.read)
            throw error
        }
        writeEnd = toBrowser.write
        readEnd = fromBrowser.read
        Thread.detachNewThread { [self] in reap() }
    }

    // Keeps the descriptors above the browser's 3 and 4, and out of programs that start concurrently.
    private static func pipe() throws -> (read: Int32, write: Int32) {
        let moved = try ProcessStart.alone {
            var ends: [Int32] = [-1, -1]
            guard Foundation.pipe(&ends) == 0 else { throw BrokerKitError("cannot create a pipe (errno \(errno))") }
            defer { for end in ends { close(end) } }
            return ends.map { fcntl($0, F_DUPFD_CLOEXEC, 10) }
        }
        guard moved.allSatisfy({ $0 >= 0 }) else {
            for end in moved where end >= 0 { close(end) }
            throw BrokerKitError("cannot duplicate the pipe (errno \(errno))")
        }
        return (moved[0], moved[1])
    }

    private static func spawn(_ arguments: [String], reading: Int32, writing: Int32) throws -> pid_t {
        #if os(Linux)
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        #else
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        // The numbers are fixed:
        // https://chromium.googlesource.com/chromium/src/+/HEAD/content/public/common/content_switches.cc
        posix_spawn_file_actions_adddup2(&actions, reading, 3)
        posix_spawn_file_actions_adddup2(&actions, writing, 4)
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP) | Int16(POSIX_SPAWN_SETSIGMASK))
        var texts: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for text in texts { free(text) } }
        var id: pid_t = 0
        let status = ProcessStart.alone { posix_spawn(&id, arguments[0], &actions, &attributes, &texts, environ) }
        guard status == 0 else { throw BrokerKitError("\(arguments[0]) cannot be started (errno \(status))") }
        return id
    }

    // Kills the group before the system can reuse the leader's id.
    private func reap() {
        var information = siginfo_t()
        while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
        reaping.withLock { isReaped in
            kill(-id, SIGKILL)
            var status: Int32 = 0
            while waitpid(id, &status, 0) < 0 && errno == EINTR {}
            isReaped = true
        }
        life.change { $0 = .ended }
    }

    /// Kills the whole group.
    func end() {
        reaping.withLock { isReaped in
            if !isReaped { kill(-id, SIGKILL) }
        }
    }

    /// Kills the whole group after a delay, unless the browser has ended.
    func endLater() {
        DispatchQueue.global().asyncAfter(deadline: .now() + ChromiumProcess.closingSeconds) { [weak self] in
            self?.end()
        }
    }

    /// Waits until the process has ended, after ``endLater()``, and removes its profile.
    func ended() async {
        // The wait is bounded, so it ignores cancellation.
        await life.untilUncancelled { $0 == .ended }
        try? FileManager.default.removeItem(at: profile)
    }
}

/// Chromium's debugging protocol over two pipes: JSON messages, each terminated by a NUL.
/// https://chromedevtools.github.io/devtools-protocol/
final class ChromiumPipe: Sendable {
    typealias EventHandler = @Sendable (_ method: String, _ parameters: ChromiumValue) -> Void
    private typealias Answer = Result<ChromiumValue, any Error>

    private struct State {
        var last = 0
        var waiting: [Int: CheckedContinuation<Answer, Never>] = [:]
        var handlers: [String: EventHandler] = [:]
        var isClosed = false
    }

    private let process: ChromiumProcess
    private let state = Mutex(State())
    private let writing = Mutex(())

    init(_ process: ChromiumProcess) {
        self.process = process
        // The thread retains the object until the browser has ended.
        Thread.detachNewThread { self.read() }
    }

    /// Sets the handler of a session's events, which runs on the pipe's thread, in order.
    func subscribe(_ session: String, _ handler: @escaping EventHandler) {
        state.withLock { $0.handlers[session] = handler }
    }

    func forget(_ session: String) {
        state.withLock { $0.handlers[session] = nil }
    }

    /// Calls a method.
    ///
    /// - Throws: The error in the browser's answer, or an error if the browser has ended.
    @discardableResult
    func call(
        _ method: String,
        _ parameters: ChromiumValue = [:],
        in session: String? = nil
    ) async throws -> ChromiumValue {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        var message: [String: ChromiumValue] = [
            "id": .number(Double(number)), "method": .text(method), "params": parameters,
        ]
        if let session { message["sessionId"] = .text(session) }
        let bytes = Array(ChromiumValue.object(message).bytes) + [0]
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isClosed = state.withLock { state in
                    if !state.isClosed { state.waiting[number] = continuation }
                    return state.isClosed
                }
                if isClosed { return continuation.resume(returning: .failure(ChromiumPipe.gone)) }
                if Task.isCancelled { return finish(number, .failure(CancellationError())) }
                write(bytes)
            }
        } onCancel: {
            finish(number, .failure(CancellationError()))
        }
        return try answer.get()
    }

    private static let gone = BrokerKitError("the browser has ended")

    private func finish(_ number: Int, _ answer: Answer) {
        let waiter = state.withLock { $0.waiting.removeValue(forKey: number) }
        waiter?.resume(returning: answer)
    }

    private func write(_ bytes: [UInt8]) {
        writing.withLock { _ in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { Foundation.write(process.writeEnd, $0.baseAddress, $0.count) }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }
    }

    // MARK: - Reading thread

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var held = Data()
        while true {
            let count = Foundation.read(process.readEnd, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            var rest = buffer[..<count]
            while let end = rest.firstIndex(of: 0) {
                held.append(contentsOf: rest[..<end])
                handle(ChromiumValue(held))
                held.removeAll(keepingCapacity: true)
                rest = rest[(end + 1)...]
            }
            held.append(contentsOf: rest)
        }
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [:] }
            return state.waiting
        }
        for waiter in waiting.values { waiter.resume(returning: .failure(ChromiumPipe.gone)) }
        close(process.readEnd)
        writing.withLock { _ in _ = close(process.writeEnd) }
    }

    private func handle(_ message: ChromiumValue) {
        if let number = message["id"].number {
            let error = message["error"]
            let refusal = BrokerKitError("the browser answered: \(error["message"].shown)")
            finish(Int(number), error == .null ? .success(message["result"]) : .failure(refusal))
        } else if let session = message["sessionId"].text, let method = message["method"].text {
            state.withLock { $0.handlers[session] }?(method, message["params"])
        }
    }
}

/// A JSON value of Chromium's debugging protocol.
enum ChromiumValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(Double)
    case text(String)
    case list([ChromiumValue])
    case object([String: ChromiumValue])

    /// Parses JSON; invalid JSON becomes `null`.
    init(_ bytes: Data) {
        self.init(any: try? JSONSerialization.jsonObject(with: bytes, options: .fragmentsAllowed))
    }

    private init(any value: Any?) {
        switch value {
        case let text as String: self = .text(text)
        case let list as [Any]: self = .list(list.map { ChromiumValue(any: $0) })
        case let object as [String: Any]: self = .object(object.mapValues { ChromiumValue(any: $0) })
        case let number as NSNumber:
            let isBool = CFBooleanKind.isBool(number)
            self = isBool ? .bool(number.boolValue) : .number(number.doubleValue)
        default: self = .null
        }
    }

    /// The value as JSON.
    var bytes: Data {
        (try? JSONSerialization.data(withJSONObject: any, options: .fragmentsAllowed)) ?? Data()
    }

    private var any: Any {
        switch self {
        case .null: NSNull()
        case .bool(let value): value
        case .number(let value): value
        case .text(let value): value
        case .list(let values): values.map(\.any)
        case .object(let members): members.mapValues(\.any)
        }
    }

    /// Returns a member of an object, or `null` if it is missing.
    subscript(name: String) -> ChromiumValue {
        if case .object(let members) = self { members[name] ?? .null } else { .null }
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }
    var number: Double? { if case .number(let number) = self { number } else { nil } }
    var list: [ChromiumValue] { if case .list(let list) = self { list } else { [] } }

    /// A form for display: a string unquoted, any other value as JSON.
    var shown: String { text ?? String(decoding: bytes, as: UTF8.self) }
}

private enum CFBooleanKind {
    static func isBool(_ number: NSNumber) -> Bool {
        String(cString: number.objCType) == "c" || String(cString: number.objCType) == "B"
    }
}

extension ChromiumValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByDictionaryLiteral {
    init(stringLiteral text: String) { self = .text(text) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(dictionaryLiteral members: (String, ChromiumValue)...) {
        self = .object(Dictionary(members) { $1 })
    }
}
