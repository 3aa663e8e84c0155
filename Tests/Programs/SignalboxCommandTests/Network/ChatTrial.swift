import BrokerKit
import Foundation
import Synchronization
import Testing

@testable import SignalboxCommand

/// `signalbox serve` on a configuration, and programs that connect to it.
struct ChatTrial {
    /// A chat that requires nothing of its clients, with one plugin of each kind that handles connections.
    static let open = configuration("absent_origin: allowed, announce_connections: true, tags: [lobby]")

    static func configuration(_ keys: String) -> String {
        """
        sources: { chat: { chat: { port: 0, \(keys) } } }
        plugins:
          - { action: signalbox.connected, use: join, tag: lobby, from: [ { source: chat } ] }
          - { action: signalbox.closed, use: print, from: [ { source: chat } ] }
          - { action: echo, use: echo, from: [ { source: chat } ] }
          - { action: say, use: broadcast, tag: lobby, from: [ { source: chat } ] }
          - { action: whisper, use: broadcast, from: [ { source: chat } ] }
          - { action: enter, use: join, from: [ { source: chat } ] }
          - { action: exit, use: leave, from: [ { source: chat } ] }
          - { action: broken, use: fail, from: [ { source: chat } ] }
        limits: { message_bytes: 1MiB }
        """
    }

    let folder: URL
    let server: CommandProcess
    let url: String

    /// Serves while `body` works, and then expects an orderly end.
    static func with(
        _ configuration: String = open,
        environment: [String: String] = [:],
        scheme: String = "ws",
        _ body: (ChatTrial) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            try await with(configuration, environment: environment, scheme: scheme, in: folder, body)
        }
    }

    static func with(
        _ configuration: String,
        environment: [String: String] = [:],
        scheme: String = "ws",
        in folder: URL,
        _ body: (ChatTrial) async throws -> Void
    ) async throws {
        try write(configuration, to: "chat.yaml", in: folder)
        let arguments = ["serve", "chat.yaml", "--outcomes"]
        let server = try CommandProcess(arguments, environment: environment, folder: folder)
        let url = try await listening(server, scheme: scheme)
        try await body(ChatTrial(folder: folder, server: server, url: url))
        server.signal(SIGTERM)
        await server.ends()
    }

    /// Returns the URL on which a server reports to listen.
    static func listening(_ server: CommandProcess, scheme: String = "ws") async throws -> String {
        let line = try #require(await server.errors.line(with: "listening on \(scheme)://"))
        let words = line.split(separator: " ")
        return String(try #require(words.first { $0.hasPrefix("\(scheme)://") }))
    }

    static func write(_ text: String, to file: String, in folder: URL) throws {
        try text.write(to: folder.appendingPathComponent(file), atomically: true, encoding: .utf8)
    }

    /// Connects with lines as stdin and waits for the end.
    func connect(_ lines: String = "", _ arguments: String..., environment: [String: String] = [:]) async throws
        -> CommandProcess.Finished
    {
        try await connect(lines, arguments, environment: environment)
    }

    func connect(_ lines: String, _ arguments: [String], environment: [String: String] = [:]) async throws
        -> CommandProcess.Finished
    {
        try await CommandProcess.run(
            ["connect", url] + arguments + (arguments.contains("--timeout") ? [] : ["--timeout", "100s"]),
            environment: environment,
            folder: folder,
            input: try file(lines)
        )
    }

    /// Returns a new file with this text, for stdin.
    func file(_ text: String) throws -> URL {
        let name = "input-\(UUID().uuidString)"
        try ChatTrial.write(text, to: name, in: folder)
        return folder.appendingPathComponent(name)
    }

    /// Starts a client whose stdin the test writes.
    func start(_ arguments: String...) throws -> CommandProcess {
        try CommandProcess(
            ["connect", url] + arguments + (arguments.contains("--timeout") ? [] : ["--timeout", "100s"]),
            folder: folder,
            isTyped: true
        )
    }
}

/// A loopback port that answers the first bytes of every connection with the same bytes and closes it.
final class AnsweringPort: Sendable {
    let port: Int
    private let listener: FileHandle

    /// Answers with these bytes only.
    convenience init(_ answer: String) throws {
        try self.init { (client, _) in AnsweringPort.send(Array(answer.utf8), to: client) }
    }

    /// Forwards the upgrade to a WebSocket server, and then sends these frames in its place.
    ///
    /// - Parameters:
    ///   - server: The port of the server.
    ///   - frames: The bytes sent after the server's answer to the upgrade.
    convenience init(afterUpgradeBy server: Int, frames: [UInt8]) throws {
        try self.init(afterUpgradeBy: server) { client in
            AnsweringPort.send(frames, to: client)
            // Waits until the client has answered and closed.
            var chunk = [UInt8](repeating: 0, count: 4_096)
            while !frames.isEmpty, read(client, &chunk, chunk.count) > 0 {}
        }
    }

    /// Forwards the upgrade to a WebSocket server, and then serves the client in its place.
    ///
    /// - Parameter serve: Reads from the client's socket and writes to it. It runs on a thread of this port.
    convenience init(afterUpgradeBy server: Int, _ serve: @escaping @Sendable (_ client: Int32) -> Void) throws {
        try self.init { (client, request) in
            guard let upstream = try? LoopbackPort.makeSocket() else { return }
            defer { close(upstream) }
            guard LoopbackPort.connects(upstream, to: UInt16(server)) else { return }
            AnsweringPort.send(request, to: upstream)
            var answer: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 4_096)
            while !answer.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                let count = read(upstream, &chunk, 1)
                guard count > 0 else { return }
                answer += chunk[..<count]
            }
            AnsweringPort.send(answer, to: client)
            serve(client)
        }
    }

    private init(_ serve: @escaping @Sendable (_ client: Int32, _ request: [UInt8]) -> Void) throws {
        let (descriptor, port) = try LoopbackPort.listening()
        self.port = Int(port)
        let listener = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        self.listener = listener
        // The thread ends when shutdown(2) ends its accept(2).
        Thread.detachNewThread {
            var request = [UInt8](repeating: 0, count: 4_096)
            while true {
                let client = accept(listener.fileDescriptor, nil, nil)
                guard client >= 0 else { return }
                let count = read(client, &request, request.count)
                serve(client, Array(request[..<max(0, count)]))
                close(client)
            }
        }
    }

    deinit {
        shutdown(listener.fileDescriptor, Int32(SHUT_RDWR))
    }

    static func send(_ bytes: [UInt8], to socket: Int32) {
        _ = bytes.withUnsafeBytes { write(socket, $0.baseAddress, $0.count) }
    }
}
