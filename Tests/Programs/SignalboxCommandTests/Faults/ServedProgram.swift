import BrokerKit
import Foundation

@testable import SignalboxTesting

/// A running `signalbox serve` that echoes, ended by its own process id. What it says on standard error is kept.
final class ServedProgram: Sendable {
    let lines = EventList<String>()
    /// The last of the lines.
    private static let end = "(the end)"
    private let program: RunningProgram
    private let file: URL

    /// - Parameters:
    ///   - descriptors: how many files and sockets it may have.
    ///   - settings: further lines of the chat's section.
    init(descriptors: Int, settings: [String] = []) throws {
        file = FileManager.default.temporaryDirectory.appendingPathComponent("chat-\(UUID().uuidString).yaml")
        let chat = [
            "port: 0", "path: /chat", "absent_origin: allowed",
            "frames: { text: { action: echo, payload: text }, binary: echo }",
            // A raw client that waits for its turn on a busy machine answers no ping.
            "ping_after: 1h", "silence_limit: 2h",
        ]
        let text = """
            sources:
              chat:
                chat:
            \((chat + settings).map { "      \($0)" }.joined(separator: "\n"))
            plugins:
              - { action: echo, use: echo, from: [ { source: chat } ] }
            """
        try text.write(to: file, atomically: true, encoding: .utf8)
        let errors = Pipe.unshared()
        program = try RunningProgram(
            "/bin/sh",
            [
                "-c", "ulimit -n \(descriptors); exec \"$0\" serve --config \"$1\"", BuiltProgram.path("signalbox"),
                file.path,
            ],
            output: Pipe.unshared(),
            errors: errors
        )
        let reading = errors.fileHandleForReading
        Thread.detachNewThread { [lines] in
            var pending = Data()
            while case let data = reading.availableData, !data.isEmpty {
                pending += data
                while let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                    lines.append(String(decoding: pending[..<end], as: UTF8.self))
                    pending = pending[pending.index(after: end)...]
                }
            }
            lines.append(ServedProgram.end)
        }
    }

    deinit {
        program.signal(SIGKILL)
        try? FileManager.default.removeItem(at: file)
    }

    /// Where it listens, waited for.
    func port() async -> UInt16? {
        let mark = "listening on ws://127.0.0.1:"
        let told = await lines.wait { $0.contains { $0.contains(mark) || $0 == ServedProgram.end } }
        let line = told.first { $0.contains(mark) }
        return line?.firstRange(of: mark).flatMap { UInt16(line?[$0.upperBound...].prefix { $0.isNumber } ?? "") }
    }

    /// Ends it gracefully.
    ///
    /// - Returns: its status.
    func end() async -> Int32 {
        program.signal(SIGTERM)
        return await program.status()
    }

    /// The most memory it has had, in bytes; `nil` where the system does not say.
    var peakMemory: Int? {
        let status = try? String(contentsOfFile: "/proc/\(program.id)/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(separator: " ").compactMap { Int($0) }.first.map { $0 * 1_024 }
    }
}
