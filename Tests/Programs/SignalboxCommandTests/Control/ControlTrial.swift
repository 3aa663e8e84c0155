import BrokerKit
import Foundation
import SignalboxCore
import Testing

@testable import SignalboxCommand

/// `signalbox run` with a control socket, and links on stdin.
struct ControlTrial: Sendable {
    let folder: URL
    let process: CommandProcess

    var path: String { folder.appendingPathComponent("c.control").path }

    static func configuration(_ control: String = "control: c.control", _ more: String = "") -> String {
        """
        \(control)
        sources:
          links: { links: { standard_input: true, routes: [{ pattern: 'app://{action}' }] } }
        plugins:
          - { action: good, use: log, from: [links, internal] }
          - { action: bad, use: fail, from: [links, internal] }
          - { action: echo, use: echo, from: internal }
          - { action: stuck, use: suspend, from: [links, internal], timeout: 10ms }
        \(more)
        """
    }

    /// Runs `body` while the program runs, and then ends the program.
    static func with(
        _ configuration: String = configuration(),
        _ body: (ControlTrial) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            try ProcessTrial.write(configuration, in: folder)
            let arguments = ["run", "c.yaml", "--outcomes", "--log-level", "debug"]
            let process = try CommandProcess(arguments, folder: folder, isTyped: true)
            _ = try #require(await process.errors.line(with: "the control socket is open"))
            try await body(ControlTrial(folder: folder, process: process))
            process.signal(SIGTERM)
            _ = await process.status()
        }
    }

    /// Dispatches actions from the links source, and waits for their outcomes.
    func dispatch(_ actions: [String]) async throws {
        for action in actions { try process.type("app://\(action)") }
        for _ in actions { _ = try #require(await process.output.line(with: "\"source\":\"links\"")) }
    }

    func client() throws -> ControlClient { try ControlClient(path: path) }

    func status(history: Bool = false) async throws -> ProgramStatus {
        try ControlClient.decoded(try await client().ask(.status(history: history)))
    }

    /// Asks until the status is as expected.
    func status(where isExpected: (ProgramStatus) -> Bool) async throws -> ProgramStatus {
        while true {
            let status = try await status()
            if isExpected(status) { return status }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Runs a command that asks the program.
    func run(_ arguments: String...) async throws -> CommandProcess.Finished {
        try await CommandProcess.run(arguments, folder: folder)
    }

    /// Sends bytes to the socket, and returns what it answers until it closes the connection or `count` lines have come.
    func raw(_ text: String, lines count: Int = 1) async throws -> [String] {
        let connection = try RawControl(path: path)
        connection.write(text)
        return await connection.lines(count)
    }
}

/// A connection to a control socket, byte by byte.
final class RawControl: Sendable {
    private let handle: FileHandle
    private let output: LineStream

    init(path: String) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0)
        handle = FileHandle(fileDescriptor: dup(number), closeOnDealloc: true)
        output = LineStream(FileHandle(fileDescriptor: number, closeOnDealloc: true))
    }

    func write(_ text: String) { try? handle.write(contentsOf: Data(text.utf8)) }

    /// Ends what is written. The answers can still be read.
    func endWriting() { shutdown(handle.fileDescriptor, Int32(SHUT_WR)) }

    /// Returns the next lines, fewer if the connection ends.
    func lines(_ count: Int) async -> [String] {
        var lines: [String] = []
        while lines.count < count, let line = await output.line(with: "{") { lines.append(line) }
        return lines
    }

    func rest() async -> [String] { await output.rest() }
}
