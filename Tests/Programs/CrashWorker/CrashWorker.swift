import Foundation
import Logging
import MQTTPush
import ServiceLifecycle
import Signalbox
import SignalboxCore
import SignalboxRoutes
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
            let supervisor = try supervisor(arguments, logger)
            try await ServiceGroup(services: [supervisor], gracefulShutdownSignals: [.sigterm], logger: logger).run()
        } catch {
            logger.error("\(error)")
            exit(1)
        }
    }

    private static func supervisor(_ arguments: Arguments, _ logger: Logger) throws -> Supervisor {
        var bounds = SupervisorConfiguration()
        bounds.timeout = patience
        bounds.ackDeadline = patience
        let supervisor = Supervisor(configuration: bounds, logger: logger)
        let tally = Tally(arguments)
        let adapter = try MQTTPushAdapter(configuration(arguments), logger: logger)
        try supervisor.add(DyingAdapter(adapter: adapter, tally: tally))
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
        try supervisor.register(
            Registration("log", as: Numbered.self, from: .source("push"), options: options) { message, _ in
                let count = tally.begin()
                if arguments.holdAt.contains(count) || arguments.holdMessage == message.n {
                    report("holding \(message.n)")
                    await gate.pass()
                }
                if arguments.death == .plugin && count == arguments.deathAt { Death.now() }
                if arguments.work > 0 { try await Task.sleep(for: .milliseconds(Int.random(in: 0...arguments.work))) }
                try log.append("\(message.n)\n")
                if tally.handled() == arguments.reportAt { report("handled \(arguments.reportAt)") }
            }
        )
        try supervisor.register(
            Registration("marker", as: RawBody.self, from: .source("push")) { _, _ in
                // Ends like under a service manager: everything received is handled and acknowledged first.
                kill(getpid(), SIGTERM)
            }
        )
        return supervisor
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
    private static func report(_ line: String) {
        print(line)
        // Flushes all streams, because Swift cannot prove that access to C's global `stdout` is safe.
        fflush(nil)
    }
}

/// The program's arguments.
struct Arguments: Sendable {
    /// The point at which the process kills itself.
    enum Death: String, Sendable {
        /// In the plugin, before it writes to the log.
        case plugin
        /// When the plugin has handled a message, before the message is acknowledged.
        case settlement
    }

    var broker = "mqtt://127.0.0.1"
    var clientID = "crash-worker"
    var filter = "crash/{action}"
    /// This worker's own topic if `filter` is shared; its actions are the same.
    var own: String?
    var version = MQTTVersion.v5
    var qos = MQTTQoS.atLeastOnce
    /// The certificate authority of a broker with TLS.
    var authority: String?
    var sessionExpiry = 3_600
    /// The maximum number of unacknowledged messages.
    var window = 20
    /// The most time that the plugin takes per message, in milliseconds. The time is random.
    var work = 0
    /// The number of messages that the plugin handles at once. If it is more than 1, their order does not matter.
    var concurrent = 1
    var log = "handled.txt"
    var death: Death?
    var deathAt = 1
    var holdAt: Set<Int> = []
    /// The number of the message that the plugin holds.
    var holdMessage: Int?
    /// The number of handled messages that is reported, or 0 for none.
    var reportAt = 0

    static let usage = """
        Writes the number of each message it handles to a log, and kills itself at the given point.

        usage: CrashWorker [--broker URL] [--client-id ID] [--filter crash/{action}] [--own TOPIC] [--mqtt 5|3.1.1]
                           [--qos 0|1] [--ca FILE] [--session-expiry SECONDS] [--window 20] [--work MILLISECONDS]
                           [--concurrent 1] [--log handled.txt] [--die plugin|settlement] [--die-at N]
                           [--hold-at N]... [--hold-message NUMBER] [--report-at N]

        The action `log` is a message {"n":NUMBER} for the log, `marker` ends the program in order. At the N-th message
        of --hold-at, and at the message with the NUMBER, the plugin writes "holding NUMBER" and waits for a line on
        standard input. When N messages are handled, "handled N" is written for --report-at. The line `leave` removes the
        filter, and "left" is written when the broker has taken that. With --die the process ends by SIGKILL in the
        plugin at the N-th message, or when the N-th message is handled and before it is acknowledged.
        exit: 0 after a marker or SIGTERM, 1 when the source could not run, 64 bad arguments.
        """

    init?(_ words: [String]) {
        var rest = words[...]
        while let option = rest.popFirst() {
            guard let value = rest.popFirst(), set(option, value) else { return nil }
        }
        guard (1...250).contains(window), sessionExpiry >= 0, work >= 0, (1...1_000).contains(concurrent), deathAt >= 1
        else { return nil }
    }

    private mutating func set(_ option: String, _ value: String) -> Bool {
        switch option {
        case "--broker": broker = value
        case "--client-id": clientID = value
        case "--filter": filter = value
        case "--own": own = value
        case "--ca": authority = value
        case "--mqtt":
            guard let known = MQTTVersion(rawValue: value) else { return false }
            version = known
        case "--log": log = value
        case "--die":
            guard let point = Death(rawValue: value) else { return false }
            death = point
        default: return setNumber(option, value)
        }
        return true
    }

    private mutating func setNumber(_ option: String, _ value: String) -> Bool {
        guard let number = Int(value) else { return false }
        switch option {
        case "--qos":
            guard let known = MQTTQoS(rawValue: number) else { return false }
            qos = known
        case "--session-expiry": sessionExpiry = number
        case "--window": window = number
        case "--work": work = number
        case "--concurrent": concurrent = number
        case "--die-at": deathAt = number
        case "--hold-message": holdMessage = number
        case "--report-at": reportAt = number
        case "--hold-at": holdAt.insert(number)
        default: return false
        }
        return true
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
