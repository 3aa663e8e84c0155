import Foundation
import Logging
import MQTTPush
import ServiceLifecycle
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxStore
import Synchronization
import UnixSignals

@main
struct CrashWorker {
    struct Numbered: Decodable, Sendable {
        let n: Int
    }

    /// Longer than any test: nothing here depends on time.
    private static let patience = Duration.seconds(3_600)

    static func main() async {
        guard let arguments = Arguments(Array(CommandLine.arguments.dropFirst())) else {
            print(Arguments.usage)
            exit(64)
        }
        let logger = Logger(label: "worker") { StreamLogHandler.standardError(label: $0) }
        do {
            let store = try arguments.store.map { try Store(path: $0) }
            let supervisor = try supervisor(arguments, store, logger)
            try await ServiceGroup(services: [supervisor], gracefulShutdownSignals: [.sigterm], logger: logger).run()
            try store?.close()
        } catch {
            logger.error("\(error)")
            exit(1)
        }
    }

    private static func supervisor(_ arguments: Arguments, _ store: Store?, _ logger: Logger) throws -> Supervisor {
        var bounds = SupervisorConfiguration()
        bounds.store = store
        bounds.timeout = patience
        bounds.ackDeadline = patience
        let supervisor = Supervisor(configuration: bounds, logger: logger)
        let tally = Tally(arguments)
        let adapter = try MQTTPushAdapter(configuration(arguments), logger: logger)
        let dying = DyingAdapter(adapter: adapter, tally: tally)
        if store == nil {
            try supervisor.add(dying)
        } else {
            // What exceeds the window is only on disk, and no more than the window is in progress when the process dies.
            try supervisor.add(dying, window: WindowLimits(arrivals: arguments.window), durability: .journal())
        }
        try supervisor.register(log(arguments, adapter, tally))
        try supervisor.register(
            Registration("marker", as: RawBody.self, from: .source("push")) { _, _ in
                // Ends like under a service manager: everything received is handled and acknowledged first.
                kill(getpid(), SIGTERM)
            }
        )
        return supervisor
    }

    /// The plugin that writes the numbers to the log.
    private static func log(_ arguments: Arguments, _ adapter: MQTTPushAdapter, _ tally: Tally) throws -> Registration {
        let log = try DurableLog(arguments.log)
        let shared = try TopicPattern(arguments.filter).filter.text
        let gate = Gate {
            Task {
                try await adapter.remove(shared)
                report("left")
            }
        }
        var options = PluginOptions<Numbered>()
        if arguments.concurrent > 1 { (options.order, options.maxConcurrent) = (.none, arguments.concurrent) }
        return Registration("log", as: Numbered.self, from: .source("push"), options: options) { message, _ in
            let count = tally.begin()
            if arguments.holdAt.contains(count) || arguments.holdMessage == message.n {
                report("holding \(message.n)")
                await gate.pass()
            }
            if arguments.death == .plugin && count == arguments.deathAt { Death.now() }
            if arguments.work > 0 { try await Task.sleep(for: .milliseconds(Int.random(in: 0...arguments.work))) }
            try log.append("\(message.n)\n")
            let handled = tally.handled()
            if arguments.death == .logged && handled == arguments.deathAt { Death.now() }
            if handled == arguments.reportAt { report("handled \(handled)") }
        }
    }

    private static func configuration(_ arguments: Arguments) throws -> MQTTPushConfiguration {
        var configuration = MQTTPushConfiguration(
            source: "push",
            broker: try MQTTBroker(url: arguments.broker),
            topics: try topics(arguments),
            clientID: try .fixed(arguments.clientID),
            cleanStart: arguments.sessionExpiry == 0,
            sessionExpiry: .seconds(arguments.sessionExpiry)
        )
        configuration.version = arguments.version
        if let authority = arguments.authority { configuration.security = .tls(.authority(file: authority)) }
        configuration.receiveMaximum = arguments.window
        configuration.ackDeadline = patience
        configuration.answerTimeout = patience
        configuration.reconnect = MQTTReconnect(
            first: .milliseconds(5),
            cap: .milliseconds(50),
            slow: .milliseconds(5) ... .milliseconds(50)
        )
        return configuration
    }

    private static func topics(_ arguments: Arguments) throws -> [MQTTTopic] {
        try ([arguments.filter] + [arguments.own].compactMap { $0 }).map { text in
            var topic = MQTTTopic(try TopicPattern(text))
            topic.qos = arguments.qos
            return topic
        }
    }

    /// Prints a line that the parent process waits for.
    static func report(_ line: String) {
        print(line)
        // Flushes all streams, because Swift cannot prove that access to C's global `stdout` is safe.
        fflush(nil)
    }
}

/// Lets one caller pass per line on standard input. The line `leave` calls `onLeave` instead.
final class Gate: Sendable {
    private struct State {
        var lines = 0
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    init(onLeave: @escaping @Sendable () -> Void) {
        // Reading blocks, so it has its own thread, which ends with the input or the process. It bypasses C's stream: a
        // waiting reader keeps that locked, and flushing all streams would wait for the lock.
        Thread.detachNewThread { [self] in
            var line: [UInt8] = []
            var byte: UInt8 = 0
            while read(STDIN_FILENO, &byte, 1) == 1 {
                guard byte == UInt8(ascii: "\n") else {
                    line.append(byte)
                    continue
                }
                if line.elementsEqual("leave".utf8) { onLeave() } else { open() }
                line = []
            }
        }
    }

    /// Waits for a line that no earlier call has consumed. Only one caller may wait at a time.
    func pass() async {
        await withCheckedContinuation { continuation in
            let mayPass = state.withLock { state in
                guard state.lines > 0 else {
                    state.waiter = continuation
                    return false
                }
                state.lines -= 1
                return true
            }
            if mayPass { continuation.resume() }
        }
    }

    private func open() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let waiter = state.waiter else {
                state.lines += 1
                return nil
            }
            state.waiter = nil
            return waiter
        }
        waiter?.resume()
    }
}

/// A file whose lines are on disk when ``append(_:)`` returns: a durable record of what a plugin has done.
struct DurableLog: Sendable {
    private let descriptor: Int32

    /// Opens the file or creates it. Existing lines stay.
    init(_ path: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    /// Appends a line and returns when it is on disk. Blocks until then, which delays nothing else in a process with
    /// one plugin.
    func append(_ line: String) throws {
        let bytes = Array(line.utf8)
        guard write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0 else {
            throw CocoaError(.fileWriteUnknown)
        }
    }
}
