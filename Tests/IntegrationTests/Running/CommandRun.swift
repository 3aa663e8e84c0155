import BrokerKit
import Foundation
import Synchronization

/// A running `signalbox`, whose output a test reads line by line as it comes.
final class CommandRun: Sendable {
    let output = LineFeed()
    let diagnostics = LineFeed()
    private let process: Process
    private let ended: AsyncStream<Int32>

    /// Starts the built program, and kills it by its own process id if the test forgets to.
    init(_ arguments: [String]) throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: BuiltProgram.path("signalbox"))
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output.pipe
        process.standardError = diagnostics.pipe
        let (ended, end) = AsyncStream.makeStream(of: Int32.self)
        self.ended = ended
        process.terminationHandler = { process in
            end.yield(process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus)
            end.finish()
        }
        try process.run()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// Starts `signalbox run` on a configuration with outcomes on standard output, and returns when it has subscribed.
    static func started(_ configuration: URL) async throws -> CommandRun {
        let run = try CommandRun(["run", configuration.path, "--outcomes"])
        try await run.diagnostics.untilLine(containing: "subscribed")
        return run
    }

    func signal(_ number: Int32) {
        kill(process.processIdentifier, number)
    }

    /// The exit status, or the negative number of the signal that ended it; waits for the end.
    func status() async -> Int32 {
        var status: Int32 = .min
        for await value in ended { status = value }
        return status
    }
}
