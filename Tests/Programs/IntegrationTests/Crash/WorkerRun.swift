import BrokerKit
import Foundation

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
