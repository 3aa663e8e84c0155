import Foundation
import Synchronization
import Testing

@testable import BrokerKit
@testable import SignalboxCommand

/// What a service manager does for `signalbox run`: it keeps the listening socket, and listens to what the program says.
final class ServiceTrial: Sendable {
    let folder: URL
    let port: UInt16
    /// What the program says, in order. Only one task may read it.
    private let messages: AsyncStream<String>
    private let heard = Mutex<[String]>([])
    private let isDone = Atomic(false)
    private let listening: Int32
    private let notifications: Int32

    /// - Parameter configuration: Returns the configuration for the port of the socket.
    static func with(
        _ configuration: (UInt16) -> String,
        _ body: (ServiceTrial) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            let trial = try ServiceTrial(folder)
            defer { trial.end() }
            try trial.write(configuration(trial.port))
            try await body(trial)
        }
    }

    private init(_ folder: URL) throws {
        self.folder = folder
        (listening, port) = try LoopbackPort.listening(backlog: 4_096)
        notifications = try LoopbackPort.datagramSocket(at: folder.appendingPathComponent("notify").path)
        let continuation: AsyncStream<String>.Continuation
        (messages, continuation) = AsyncStream.makeStream()
        let socket = notifications
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while true {
                let count = recv(socket, &buffer, buffer.count, 0)
                guard count > 0 else { break }
                continuation.yield(String(decoding: buffer.prefix(count), as: UTF8.self))
            }
            continuation.finish()
            close(socket)
        }
    }

    private func end() {
        // An empty datagram ends the thread.
        _ = LoopbackPort.sendDatagram("", to: folder.appendingPathComponent("notify").path)
        close(listening)
    }

    func write(_ configuration: String) throws {
        let file = folder.appendingPathComponent("c.yaml")
        try configuration.write(to: file, atomically: true, encoding: .utf8)
    }

    /// Starts the program with the socket and with a watchdog of 2 s.
    ///
    /// - Parameter passed: The descriptors to pass in place of the listening socket.
    func start(passed: [Int32]? = nil) throws -> CommandProcess {
        let sockets = passed ?? [listening]
        return try CommandProcess(
            ["run", "c.yaml"],
            startedBy: ["/bin/sh", "-c", #"LISTEN_PID=$$ exec "$@""#, "sh"],
            environment: [
                "LISTEN_FDS": "\(sockets.count)", "WATCHDOG_USEC": "2000000",
                "NOTIFY_SOCKET": folder.appendingPathComponent("notify").path,
            ],
            folder: folder,
            passed: sockets
        )
    }

    /// Waits until the program says something that begins with the words.
    func hears(_ words: String) async throws {
        for await message in messages {
            heard.withLock { $0.append(message) }
            if message.hasPrefix(words) { return }
        }
        throw BrokerKitError("the program did not say \(words)")
    }

    /// The states that the program has announced and that were waited for, without its signs of life.
    var states: [String] {
        heard.withLock { $0 }.compactMap { $0.split(separator: "=").first.map(String.init) }
            .filter { $0 != "WATCHDOG" && $0 != "STATUS" }
    }

    /// Sends requests from four clients until ``endLoad()``.
    ///
    /// - Parameter answered: Receives the status line of each answer, or `refused`.
    func load(_ answered: @escaping @Sendable (String) -> Void) async {
        await withDiscardingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask { [self] in
                    while !isDone.load(ordering: .relaxed) {
                        answered(await post().map { String($0.prefix { $0 != "\r\n" }) } ?? "refused")
                    }
                }
            }
        }
    }

    func endLoad() { isDone.store(true, ordering: .relaxed) }

    /// Sends a request on a connection of its own.
    ///
    /// - Returns: The whole answer, or `nil` if the connection is refused.
    func post() async -> String? {
        guard let peer = RawPeer(port: port) else { return nil }
        let head = ["POST /order HTTP/1.1", "Host: localhost", "Content-Type: application/json", "Connection: close"]
        peer.write((head + ["Content-Length: 2"]).joined(separator: "\r\n") + "\r\n\r\n{}")
        return String(decoding: await peer.read { _ in false }, as: UTF8.self)
    }
}
