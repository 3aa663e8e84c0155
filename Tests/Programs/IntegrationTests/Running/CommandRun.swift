import BrokerKit
import Foundation
import Testing

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
