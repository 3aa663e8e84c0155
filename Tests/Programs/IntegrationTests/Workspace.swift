import BrokerKit
import Foundation
import Testing

@testable import SignalboxTesting

/// A test's own folder for configurations and logs, and a real broker.
struct Workspace: Sendable {
    let broker: Broker
    let folder: URL

    static func with(_ options: BrokerOptions = BrokerOptions(), _ body: (Workspace) async throws -> Void) async throws
    {
        try await Broker.with(options) { broker in
            let folder = broker.folder.appendingPathComponent("work")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try await body(Workspace(broker: broker, folder: folder))
        }
    }

    /// Writes a configuration with two sources on the broker: `push` with the topics `push/{device}/{action}`, and
    /// `urgent`. Its time limits suit a busy disk, unless a plugin overrides them.
    func configuration(_ name: String, more: String = "", plugins: String) throws -> URL {
        let file = folder.appendingPathComponent("\(name).yaml")
        let text = """
            sources:
              push:
                mqtt:
                  broker: \(broker.url)
                  client_id: push-test
                  topics: [ { pattern: "push/{device}/{action}" } ]
              urgent:
                mqtt:
                  broker: \(broker.url)
                  client_id: urgent-test
                  topics: [ { pattern: "urgent/{action}" } ]
            timeout: 300s
            ack_deadline: 3600s
            plugins:
            \(plugins)
            \(more)
            """
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file
    }

    func plugin(_ action: String, use: String, source: String = "push", more: String = "") -> String {
        "  - { action: \(action), use: \(use), from: [ { source: \(source) } ]\(more.isEmpty ? "" : ", \(more)") }"
    }

    func file(_ name: String) -> URL { folder.appendingPathComponent(name) }

    func lines(of name: String) throws -> [String] {
        guard FileManager.default.fileExists(atPath: file(name).path) else { return [] }
        return try String(contentsOf: file(name), encoding: .utf8).split(separator: "\n").map(String.init)
    }
}

/// A running `signalbox` whose output a test reads line by line.
final class CommandRun: Sendable {
    let output = LineFeed()
    let diagnostics = LineFeed()
    private let program: RunningProgram

    /// Starts the built program, and kills it by its own process id if the test does not end it.
    init(_ arguments: [String]) throws {
        program = try RunningProgram(
            BuiltProgram.path("signalbox"),
            arguments,
            output: output.pipe,
            errors: diagnostics.pipe
        )
    }

    deinit {
        program.signal(SIGKILL)
    }

    /// Starts `signalbox run` on a configuration of a workplace. Returns when both sources have subscribed, as earlier
    /// messages would be lost.
    static func started(_ configuration: URL, outcomes: Bool = true) async throws -> CommandRun {
        let run = try CommandRun(["run", configuration.path] + (outcomes ? ["--outcomes"] : []))
        for source in ["push", "urgent"] {
            try await run.diagnostics.untilLine(containing: "source \(source): subscribed to")
        }
        return run
    }

    func signal(_ number: Int32) {
        program.signal(number)
    }

    /// Waits for the end. Returns the exit status, or the negative number of the signal that ended the program.
    func status() async -> Int32 {
        await program.status()
    }

    /// Waits for the end. If the status is not the expected one, records it and the program's last diagnostics.
    func ends(with expected: Int32 = 0, sourceLocation: SourceLocation = #_sourceLocation) async {
        let found = await status()
        guard found != expected else { return }
        await diagnostics.untilEnded()
        let reported = diagnostics.lines.suffix(5).joined(separator: "; ")
        let end = "it ended with status \(found), and not \(expected); it reported: \(reported)"
        Issue.record("\(end)", sourceLocation: sourceLocation)
    }

    /// Waits until everything that the program wrote is among the lines.
    func untilRead() async {
        await output.untilEnded()
        await diagnostics.untilEnded()
    }
}

/// A running CrashWorker whose output a test reads line by line.
final class WorkerRun: Sendable {
    let output = LineFeed()
    let diagnostics = LineFeed()
    private let input = Pipe.unshared()
    private let program: RunningProgram

    /// Starts the built program, and kills it by its own process id if the test does not end it.
    init(_ arguments: [String]) throws {
        program = try RunningProgram(
            BuiltProgram.path("CrashWorker"),
            arguments,
            input: input,
            output: output.pipe,
            errors: diagnostics.pipe
        )
    }

    deinit {
        program.signal(SIGKILL)
    }

    /// Starts a worker and returns when it has subscribed.
    static func subscribed(_ arguments: [String]) async throws -> WorkerRun {
        let run = try WorkerRun(arguments)
        try await run.diagnostics.untilLine(containing: "subscribed to")
        return run
    }

    /// Lets the worker's plugin continue from where it holds.
    func resume() throws {
        try input.fileHandleForWriting.write(contentsOf: Data("go on\n".utf8))
    }

    /// Makes the worker unsubscribe from its filter, and returns when the broker has confirmed that.
    func leave() async throws {
        try input.fileHandleForWriting.write(contentsOf: Data("leave\n".utf8))
        try await output.untilLine(containing: "left")
    }

    func signal(_ number: Int32) {
        program.signal(number)
    }

    /// Waits for the end. Returns the exit status, or the negative number of the signal that ended the program.
    func status() async -> Int32 {
        await program.status()
    }
}

/// Collects the lines that a program writes to a pipe, and notifies waiting tests.
final class LineFeed: Sendable {
    struct Ended: Error, CustomStringConvertible {
        let wanted: String
        let lines: [String]
        var description: String {
            "the output ended, or the wait did, without \(wanted):\n" + lines.suffix(20).joined(separator: "\n")
        }
    }

    private struct State {
        var partial = Data()
        var lines: [String] = []
        var hasEnded = false
    }

    let pipe = Pipe.unshared()
    private let state = Watched(State())

    init() {
        // Reads on a separate thread. A dispatch source may receive events after its end if its descriptor is closed
        // while a program that was started in the meantime still has a copy.
        Thread.detachNewThread { [weak self, handle = pipe.fileHandleForReading] in
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(handle.fileDescriptor, &chunk, chunk.count)
                if count < 0 && errno == EINTR { continue }
                self?.take(Data(chunk[..<max(0, count)]))
                guard count > 0 else { break }
            }
        }
    }

    var lines: [String] { state.value.lines }

    func untilLine(containing text: String, file: StaticString = #fileID, line: UInt = #line) async throws {
        try await until("a line with '\(text)'", file, line) { lines in lines.contains { $0.contains(text) } }
    }

    func untilLines(_ count: Int, file: StaticString = #fileID, line: UInt = #line) async throws {
        try await until("\(count) lines", file, line) { $0.count >= count }
    }

    /// Waits until the writer has ended and all lines have arrived, or until the task is cancelled.
    func untilEnded(file: StaticString = #fileID, line: UInt = #line) async {
        try? await until("its end", file, line) { _ in false }
    }

    private func until(
        _ wanted: String,
        _ file: StaticString,
        _ line: UInt,
        _ isMet: @escaping @Sendable ([String]) -> Bool
    ) async throws {
        // A cancelled wait fails with the lines, which are more useful than the cancellation.
        await state.until(file: file, line: line) { $0.hasEnded || isMet($0.lines) }
        guard isMet(lines) else { throw Ended(wanted: wanted, lines: lines) }
    }

    private func take(_ data: Data) {
        state.change { state in
            state.partial.append(data)
            var pieces = state.partial.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            state.partial = Data(pieces.popLast() ?? Data())
            state.lines += pieces.map { String(decoding: $0, as: UTF8.self) }
            state.hasEnded = state.hasEnded || data.isEmpty
        }
    }
}
