import BrokerKit
import Foundation
import Testing

@testable import SignalboxTesting

/// A folder of a test's own with configurations and ledgers, beside a real broker.
struct Workplace: Sendable {
    let broker: Broker
    let folder: URL

    static func with(_ options: BrokerOptions = BrokerOptions(), _ body: (Workplace) async throws -> Void) async throws
    {
        try await Broker.with(options) { broker in
            let folder = broker.folder.appendingPathComponent("work")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try await body(Workplace(broker: broker, folder: folder))
        }
    }

    /// Writes a configuration with one source `push` on the broker, whose topics are `push/{device}/{action}`, and whose calls
    /// and messages have as long as a busy disk may need, unless a plugin says otherwise.
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
            hold_limit: 3600s
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

/// A running `signalbox`, whose output a test reads line by line as it comes.
final class CommandRun: Sendable {
    let output = LineFeed()
    let diagnostics = LineFeed()
    private let program: RunningProgram

    /// Starts the built program, and kills it by its own process id if the test forgets to.
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

    /// Starts `signalbox run` on a configuration of a workplace and returns when both of its sources have subscribed: what is
    /// published to a source before that is lost.
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

    /// The exit status, or the negative number of the signal that ended it; waits for the end.
    func status() async -> Int32 {
        await program.status()
    }

    /// Waits for the end. Where it comes with another status than expected, records which, and what the program told last.
    func ends(with expected: Int32 = 0, sourceLocation: SourceLocation = #_sourceLocation) async {
        let found = await status()
        guard found != expected else { return }
        await diagnostics.untilEnded()
        let told = diagnostics.lines.suffix(5).joined(separator: "; ")
        let end = "it ended with status \(found), and not \(expected); it told: \(told)"
        Issue.record("\(end)", sourceLocation: sourceLocation)
    }

    /// Waits until all that the program wrote before its end is among the lines.
    func untilRead() async {
        await output.untilEnded()
        await diagnostics.untilEnded()
    }
}

/// A running CrashWorker, whose lines a test reads as they come.
final class WorkerRun: Sendable {
    let output = LineFeed()
    let diagnostics = LineFeed()
    private let input = Pipe.unshared()
    private let program: RunningProgram

    /// Starts the built program, and kills it by its own process id if the test forgets to.
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

    /// Lets the worker's plugin go on from where it holds.
    func goOn() throws {
        try input.fileHandleForWriting.write(contentsOf: Data("go on\n".utf8))
    }

    /// Has the worker give its filter back, and returns when the broker has heard that.
    func leave() async throws {
        try input.fileHandleForWriting.write(contentsOf: Data("leave\n".utf8))
        try await output.untilLine(containing: "left")
    }

    func signal(_ number: Int32) {
        program.signal(number)
    }

    /// The exit status, or the negative number of the signal that ended it; waits for the end.
    func status() async -> Int32 {
        await program.status()
    }
}

/// The lines that a program writes to a pipe, kept, and told to whoever waits for them.
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
        // On a thread of its own: a dispatch source's descriptor may be closed while a program that was started meanwhile still
        // has a copy of it, and then the source is told of it after it is gone.
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

    /// Waits until whoever writes has ended, and all lines are here, or the task is cancelled.
    func untilEnded(file: StaticString = #fileID, line: UInt = #line) async {
        try? await until("its end", file, line) { _ in false }
    }

    private func until(
        _ wanted: String,
        _ file: StaticString,
        _ line: UInt,
        _ isMet: @escaping @Sendable ([String]) -> Bool
    ) async throws {
        // A cancelled wait is one without the lines, which tell more than the cancellation.
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
