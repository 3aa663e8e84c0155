import BrokerKit
import Foundation

@testable import SignalboxCommand

/// Runs `signalbox` in a folder with files of the test's own.
struct LinkTrial {
    let folder: URL

    static func with(_ files: [String: String] = [:], _ body: (LinkTrial) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            let trial = LinkTrial(folder: folder)
            for (name, text) in files { _ = try trial.write(Array(text.utf8), to: name) }
            try await body(trial)
        }
    }

    func write(_ bytes: [UInt8], to file: String) throws -> URL {
        let place = folder.appendingPathComponent(file)
        try Data(bytes).write(to: place)
        return place
    }

    /// Runs to the end, with these bytes on stdin where there are any.
    func run(_ arguments: [String], input: [UInt8]? = nil) async throws -> CommandProcess.Finished {
        try await CommandProcess.run(
            arguments,
            folder: folder,
            input: try input.map { try write($0, to: "stdin") }
        )
    }

    func run(_ arguments: [String], input: String) async throws -> CommandProcess.Finished {
        try await run(arguments, input: Array(input.utf8))
    }
}
