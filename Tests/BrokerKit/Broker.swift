public import Foundation
import Synchronization

/// A real mosquitto broker on a free loopback port, with its files in a temporary folder.
public final class Broker: Sendable {
    /// The port, which restarts preserve.
    public let port: Int
    /// A port for publishers, without TLS, login or access list; equal to ``port`` if that has none of them either.
    public let openPort: Int
    /// The folder with the configuration, passwords, persistent queues and log.
    public let folder: URL
    private let program: Mutex<RunningProgram>
    /// The reservations, which keep other tests' servers off the ports while the broker starts or is down.
    private let reservations: [PortReservation]

    private init(_ reservations: [PortReservation], port: Int, openPort: Int, folder: URL, program: RunningProgram) {
        self.reservations = reservations
        self.port = port
        self.openPort = openPort
        self.folder = folder
        self.program = Mutex(program)
    }

    /// Runs `body` with a broker, then ends the broker and removes its folder.
    ///
    /// - Throws: ``BrokerKitError`` if mosquitto is missing or does not start; any error of `body`.
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

    /// Starts a broker. The caller must call ``remove()`` afterwards.
    public static func start(_ options: BrokerOptions = BrokerOptions()) async throws -> Broker {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("broker-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try await writePasswords(options, in: folder)
        try writeAccess(options, in: folder)
        // If ports cannot be reserved, another process may take one first; then another port is tried.
        for _ in 0..<5 {
            // mosquitto's listener for WebSockets binds to every address, whatever its configuration says.
            let reservation = try PortReservation(everyAddress: options.isWebSocket)
            let reservations = try options.isOpen ? [reservation] : [reservation, PortReservation()]
            guard let port = reservations.first?.port, let openPort = reservations.last?.port else { continue }
            try configuration(options, port: port, openPort: openPort, folder: folder)
                .write(to: folder.appendingPathComponent("mosquitto.conf"), atomically: true, encoding: .utf8)
            let program = try launch(in: folder)
            if try await isUp(program, port) {
                return Broker(reservations, port: port, openPort: openPort, folder: folder, program: program)
            }
            program.signal(SIGKILL)
        }
        throw BrokerKitError("mosquitto did not start: …\(log(in: folder).suffix(200))")
    }

    /// `mqtt://127.0.0.1:PORT`.
    public var url: String { "mqtt://127.0.0.1:\(port)" }
    /// `mqtts://localhost:PORT`, for a broker with TLS.
    public var secureURL: String { "mqtts://localhost:\(port)" }

    /// Shuts the broker down, so that it saves its queues, and waits until it has ended.
    public func stop() async {
        await end(with: SIGTERM)
    }

    /// Kills the broker, so that it saves nothing, and waits until it has ended.
    public func kill() async {
        await end(with: SIGKILL)
    }

    /// Restarts the broker after ``stop()`` or ``kill()`` with the same port, configuration and files.
    public func restart() async throws {
        let next = try Broker.launch(in: folder)
        program.withLock { $0 = next }
        guard try await Broker.isUp(next, port) else {
            throw BrokerKitError("mosquitto did not restart: \(Broker.log(in: folder))")
        }
    }

    /// Deletes all sessions, queues and retained messages of a broker that has ended.
    public func forget() throws {
        let database = folder.appendingPathComponent("mosquitto.db")
        if FileManager.default.fileExists(atPath: database.path) { try FileManager.default.removeItem(at: database) }
    }

    /// The contents of the broker's log.
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
        // Foundation's `String(contentsOf:)` leaks memory if the file is empty.
        guard let handle = try? FileHandle(forReadingFrom: file) else { return "" }
        defer { try? handle.close() }
        return String(decoding: (try? handle.readToEnd()) ?? Data(), as: UTF8.self)
    }

    private static func configuration(_ options: BrokerOptions, port: Int, openPort: Int, folder: URL) -> String {
        var lines = ["per_listener_settings true", "max_queued_messages \(options.maximumQueued)"]
        // Run as root, mosquitto switches to another user, who cannot read the folder.
        if getuid() == 0 { lines.append("user root") }
        lines.append("persistence \(options.isPersistent)")
        if options.isPersistent { lines += ["persistence_location \(folder.path)/", "autosave_interval 1"] }
        if openPort != port { lines += ["listener \(openPort) 127.0.0.1", "allow_anonymous true"] }
        lines.append("listener \(port) 127.0.0.1")
        if options.isWebSocket { lines.append("protocol websockets") }
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
        if case .preSharedKeys(let keys) = options.security {
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
            throw BrokerKitError("mosquitto_passwd failed")
        }
    }
}

extension Broker {
    /// Publishes one message with `mosquitto_pub` at MQTT 5 and waits until the broker acknowledges it.
    ///
    /// - Parameters:
    ///   - payload: The message's bytes; any bytes are valid, because they are passed in a file.
    ///   - qos: 0, 1 or 2.
    ///   - properties: Arguments of `mosquitto_pub -D publish`, such as `["content-type", "text/plain"]`.
    /// - Throws: ``BrokerKitError`` if the broker refuses the message.
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

    /// Publishes each single-line text as a separate message with QoS 1, in order over one connection. Waits until the
    /// broker has acknowledged all.
    ///
    /// - Throws: ``BrokerKitError`` if the broker refuses them.
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

/// The configuration of a test's broker.
public struct BrokerOptions: Sendable {
    /// The passwords of the users who may connect, by name; empty for anonymous access.
    public var users: [String: String]
    /// Whether sessions and queues survive a restart.
    public var isPersistent: Bool
    /// The maximum number of queued messages per client; 0, for no limit, is required for at-least-once delivery.
    public var maximumQueued: Int
    /// The security of the broker's listener, but not of the port for publishers.
    public var security = BrokerSecurity.none
    /// Whether the broker's listener, but not the port for publishers, expects WebSockets.
    public var isWebSocket = false
    /// The lines of an access list, such as `user anna` and `topic read news/#`; empty for no list.
    public var access: [String] = []
    /// Additional lines of mosquitto's configuration, such as `max_inflight_messages 1000`.
    public var lines: [String]

    /// Creates options for a broker with anonymous access and unlimited queues.
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

    /// Whether the listener has no TLS, login, access list or WebSockets.
    var isOpen: Bool {
        if case .none = security { return users.isEmpty && access.isEmpty && !isWebSocket }
        return false
    }
}

/// The security of a test broker's listener.
public enum BrokerSecurity: Sendable {
    /// No security.
    case none
    /// TLS with the authority's server certificate.
    case tls(TestAuthority)
    /// TLS with client certificates of the authority; the common name is the user name.
    case mutual(TestAuthority)
    /// TLS with pre-shared keys, in hexadecimal, by identity; the identity is the user name.
    case preSharedKeys([String: String])

    func lines(in folder: String) -> [String] {
        switch self {
        case .none: []
        case .tls(let authority): BrokerSecurity.server(authority)
        case .mutual(let authority):
            BrokerSecurity.server(authority) + [
                "cafile \(authority.authorityFile)", "require_certificate true", "use_identity_as_username true",
            ]
        case .preSharedKeys: ["psk_hint test", "psk_file \(folder)/keys", "use_identity_as_username true"]
        }
    }

    private static func server(_ authority: TestAuthority) -> [String] {
        ["certfile \(authority.certificateFile)", "keyfile \(authority.keyFile)"]
    }
}

/// An error of a test's broker, browser or other helper.
public struct BrokerKitError: Error, CustomStringConvertible {
    /// A description of the error.
    public let description: String

    /// Creates an error with this description.
    public init(_ description: String) {
        self.description = description
    }
}
