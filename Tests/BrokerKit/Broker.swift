public import Foundation
import Synchronization

/// A real mosquitto on a free loopback port, with its files in a temporary folder.
public final class Broker: Sendable {
    /// The port, the same after each restart.
    public let port: Int
    /// A port for publishers alone, where everyone may do everything without TLS; the same as ``port`` where that is so too.
    public let openPort: Int
    /// The folder with configuration, passwords, persistent queues and the broker's log.
    public let folder: URL
    private let program: Mutex<RunningProgram>
    /// Without them another test's server could have a port while the broker starts, or is away.
    private let reservations: [PortReservation]

    private init(_ reservations: [PortReservation], port: Int, openPort: Int, folder: URL, program: RunningProgram) {
        self.reservations = reservations
        self.port = port
        self.openPort = openPort
        self.folder = folder
        self.program = Mutex(program)
    }

    /// Runs `body` with a broker that is ended afterwards, and its folder removed.
    ///
    /// - Throws: ``BrokerKitError`` when mosquitto is missing or does not start, and what `body` throws.
    public static func with<Result>(
        _ options: BrokerOptions = BrokerOptions(),
        _ body: (Broker) async throws -> Result
    ) async throws -> Result {
        let broker = try await start(options)
        do {
            let result = try await body(broker)
            await broker.remove()
            return result
        } catch {
            await broker.remove()
            throw error
        }
    }

    /// Starts a broker; ``remove()`` must be called in the end.
    public static func start(_ options: BrokerOptions = BrokerOptions()) async throws -> Broker {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("broker-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try await writePasswords(options, in: folder)
        try writeAccess(options, in: folder)
        // Where ports cannot be reserved somebody else may take one before the broker does: then another one is tried.
        for _ in 0..<5 {
            let reservations = try options.isOpen ? [PortReservation()] : [PortReservation(), PortReservation()]
            guard let port = reservations.first?.port, let openPort = reservations.last?.port else { continue }
            try configuration(options, port: port, openPort: openPort, folder: folder)
                .write(to: folder.appendingPathComponent("mosquitto.conf"), atomically: true, encoding: .utf8)
            let program = try launch(in: folder)
            if try await isUp(program, port) {
                return Broker(reservations, port: port, openPort: openPort, folder: folder, program: program)
            }
            program.signal(SIGKILL)
        }
        throw BrokerKitError("mosquitto did not start: \(log(in: folder))")
    }

    /// `mqtt://127.0.0.1:PORT`.
    public var url: String { "mqtt://127.0.0.1:\(port)" }
    /// `mqtts://localhost:PORT`, for a broker with TLS.
    public var secureURL: String { "mqtts://localhost:\(port)" }

    /// Ends the broker in order, so that it saves its queues; returns when it has ended.
    public func stop() async {
        await end(with: SIGTERM)
    }

    /// Ends the broker at once, without a chance to save anything; returns when it has ended.
    public func kill() async {
        await end(with: SIGKILL)
    }

    /// Starts the broker again after ``stop()`` or ``kill()``: same port, same configuration, same files.
    public func restart() async throws {
        let next = try Broker.launch(in: folder)
        program.withLock { $0 = next }
        guard try await Broker.isUp(next, port) else {
            throw BrokerKitError("mosquitto did not start again: \(Broker.log(in: folder))")
        }
    }

    /// Makes a broker that has ended forget all sessions, queues and stored messages.
    public func forget() throws {
        let database = folder.appendingPathComponent("mosquitto.db")
        if FileManager.default.fileExists(atPath: database.path) { try FileManager.default.removeItem(at: database) }
    }

    /// What the broker has logged so far.
    public var log: String { Broker.log(in: folder) }

    /// Ends the broker and removes its folder.
    public func remove() async {
        await kill()
        try? FileManager.default.removeItem(at: folder)
    }

    private func end(with signal: Int32) async {
        let current = program.withLock { $0 }
        current.signal(signal)
        await current.status()
    }

    private static func launch(in folder: URL) throws -> RunningProgram {
        let log = folder.appendingPathComponent("mosquitto.log")
        return try RunningProgram(
            "mosquitto",
            ["-c", folder.appendingPathComponent("mosquitto.conf").path],
            errors: log
        )
    }

    /// Tries to connect for at most 20 seconds.
    private static func isUp(_ program: RunningProgram, _ port: Int) async throws -> Bool {
        for _ in 0..<1_000 where program.isRunning {
            if try LoopbackPort.isOpen(port) { return program.isRunning }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }

    private static func log(in folder: URL) -> String {
        let file = folder.appendingPathComponent("mosquitto.log")
        return (try? String(contentsOf: file, encoding: .utf8)) ?? ""
    }

    private static func configuration(_ options: BrokerOptions, port: Int, openPort: Int, folder: URL) -> String {
        var lines = ["per_listener_settings true", "max_queued_messages \(options.maximumQueued)"]
        // As root mosquitto changes to another user, who cannot read the folder.
        if getuid() == 0 { lines.append("user root") }
        lines.append("persistence \(options.isPersistent)")
        if options.isPersistent { lines += ["persistence_location \(folder.path)/", "autosave_interval 1"] }
        if openPort != port { lines += ["listener \(openPort) 127.0.0.1", "allow_anonymous true"] }
        lines.append("listener \(port) 127.0.0.1")
        lines += options.users.isEmpty ? ["allow_anonymous true"] : ["password_file \(folder.path)/passwords"]
        if !options.access.isEmpty { lines.append("acl_file \(folder.path)/access") }
        lines += options.security.lines(in: folder.path)
        return (lines + options.lines).joined(separator: "\n") + "\n"
    }

    private static func writeAccess(_ options: BrokerOptions, in folder: URL) throws {
        if !options.access.isEmpty {
            try (options.access.joined(separator: "\n") + "\n")
                .write(to: folder.appendingPathComponent("access"), atomically: true, encoding: .utf8)
        }
        if case .sharedKeys(let keys) = options.security {
            try keys.map { "\($0.key):\($0.value)\n" }.joined()
                .write(to: folder.appendingPathComponent("keys"), atomically: true, encoding: .utf8)
        }
    }

    private static func writePasswords(_ options: BrokerOptions, in folder: URL) async throws {
        guard !options.users.isEmpty else { return }
        let file = folder.appendingPathComponent("passwords")
        let lines = options.users.map { "\($0.key):\($0.value)\n" }.joined()
        try lines.write(to: file, atomically: true, encoding: .utf8)
        guard try await RunningProgram("mosquitto_passwd", ["-U", file.path]).status() == 0 else {
            throw BrokerKitError("mosquitto_passwd did not take the passwords")
        }
    }
}
