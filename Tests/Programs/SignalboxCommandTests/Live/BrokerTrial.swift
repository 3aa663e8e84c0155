import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// The command's programs against a broker, for tests of their options.
enum BrokerTrial {
    /// A subscriber that is subscribed.
    static func subscriber(_ url: String, _ arguments: String...) async throws -> CommandProcess {
        let process = try CommandProcess(["subscribe", url, "--log-level", "info"] + arguments)
        try #require(await process.errors.line(with: "subscribed to") != nil)
        return process
    }

    /// Runs a configuration, subscribed, until the body has ended, and expects that it then ends in order.
    static func withRun(_ configuration: String, in folder: URL, _ body: (CommandProcess) async throws -> Void)
        async throws
    {
        let file = folder.appendingPathComponent("signalbox.yaml")
        try configuration.write(to: file, atomically: true, encoding: .utf8)
        let process = try CommandProcess(["run", file.path, "--outcomes", "--log-level", "info"], folder: folder)
        try #require(await process.errors.line(with: "subscribed to") != nil)
        try await body(process)
        process.signal(SIGTERM)
        await process.ends()
    }

    /// Publishes a retained message, and shows it to a subscriber with the same login.
    static func roundTrip(_ url: String, _ login: [String], environment: [String: String] = [:]) async throws
        -> (published: CommandProcess.Finished, seen: CommandProcess.Finished)
    {
        let published = try await CommandProcess.run(
            ["publish", url, "-t", "trial", "--payload", "hello", "--retain"] + login,
            environment: environment
        )
        let seen = try await CommandProcess.run(
            ["subscribe", url, "-t", "trial", "--count", "1", "--raw"] + login,
            environment: environment
        )
        return (published, seen)
    }
}
