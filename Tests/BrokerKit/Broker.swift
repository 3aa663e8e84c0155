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

extension Broker {
    /// Publishes one message with `mosquitto_pub` at MQTT 5 and returns when the broker has acknowledged it.
    ///
    /// - Parameters:
    ///   - payload: the message's bytes; it goes through a file, so any bytes will do.
    ///   - qos: 0, 1 or 2.
    ///   - properties: as `mosquitto_pub -D publish` takes them, such as `["content-type", "text/plain"]`.
    /// - Throws: ``BrokerKitError`` when the broker did not take it.
    public func publish(
        _ payload: [UInt8],
        to topic: String,
        qos: Int = 1,
        retain: Bool = false,
        properties: [[String]] = []
    ) async throws {
        let file = folder.appendingPathComponent("payload-\(UUID().uuidString)")
        try Data(payload).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        var arguments = ["-h", "127.0.0.1", "-p", "\(openPort)", "-V", "5", "-q", "\(qos)", "-t", topic]
        arguments += payload.isEmpty ? ["-n"] : ["-f", file.path]
        if retain { arguments.append("-r") }
        for property in properties { arguments += ["-D", "publish"] + property }
        let status = try await RunningProgram("mosquitto_pub", arguments).status()
        guard status == 0 else { throw BrokerKitError("mosquitto_pub to \(topic) ended with status \(status)") }
    }

    /// Publishes one text with QoS 1.
    public func publish(_ text: String, to topic: String, retain: Bool = false) async throws {
        try await publish(Array(text.utf8), to: topic, retain: retain)
    }

    /// Publishes each text, which has one line, as a message of its own with QoS 1, in this order over one connection;
    /// returns when the broker has acknowledged all.
    ///
    /// - Throws: ``BrokerKitError`` when the broker did not take them.
    public func publish(lines: [String], to topic: String) async throws {
        guard !lines.isEmpty else { return }
        let file = folder.appendingPathComponent("lines-\(UUID().uuidString)")
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let arguments = ["-h", "127.0.0.1", "-p", "\(openPort)", "-V", "5", "-q", "1", "-t", topic, "-l"]
        let status = try await RunningProgram("mosquitto_pub", arguments, input: file).status()
        guard status == 0 else { throw BrokerKitError("mosquitto_pub to \(topic) ended with status \(status)") }
    }
}

/// How a test's broker is configured.
public struct BrokerOptions: Sendable {
    /// Who may connect, by name, with which password; empty for everyone.
    public var users: [String: String]
    /// Whether sessions and queues survive a restart.
    public var isPersistent: Bool
    /// How many messages wait per client, 0 for any number: what at-least-once needs.
    public var maximumQueued: Int
    /// How the broker's listener is protected; the port for publishers is not.
    public var security = BrokerSecurity.none
    /// The lines of an access list, such as `user anna` and `topic read news/#`; empty for no list.
    public var access: [String] = []
    /// More lines for mosquitto's configuration, such as `max_inflight_messages 1000`.
    public var lines: [String]

    /// A broker for everyone that keeps all messages.
    public init(
        users: [String: String] = [:],
        isPersistent: Bool = true,
        maximumQueued: Int = 0,
        lines: [String] = []
    ) {
        self.users = users
        self.isPersistent = isPersistent
        self.maximumQueued = maximumQueued
        self.lines = lines
    }

    /// Whether everyone may do everything without TLS.
    var isOpen: Bool {
        if case .none = security { return users.isEmpty && access.isEmpty }
        return false
    }
}

/// How a test's broker protects its listener.
public enum BrokerSecurity: Sendable {
    /// Not at all.
    case none
    /// By TLS with the authority's server certificate.
    case tls(TestAuthority)
    /// The same, and clients must have a certificate of the authority; its common name is their user name.
    case mutual(TestAuthority)
    /// By TLS with keys, hexadecimal, by identity, which is the user name.
    case sharedKeys([String: String])

    func lines(in folder: String) -> [String] {
        switch self {
        case .none: []
        case .tls(let authority): BrokerSecurity.server(authority)
        case .mutual(let authority):
            BrokerSecurity.server(authority) + [
                "cafile \(authority.authorityFile)", "require_certificate true", "use_identity_as_username true",
            ]
        case .sharedKeys: ["psk_hint test", "psk_file \(folder)/keys", "use_identity_as_username true"]
        }
    }

    private static func server(_ authority: TestAuthority) -> [String] {
        ["certfile \(authority.certificateFile)", "keyfile \(authority.keyFile)"]
    }
}

/// What kept a test from having its broker.
public struct BrokerKitError: Error, CustomStringConvertible {
    /// What is missing or went wrong.
    public let description: String

    /// What is missing or went wrong, in words.
    public init(_ description: String) {
        self.description = description
    }
}
