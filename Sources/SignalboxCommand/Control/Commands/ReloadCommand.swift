import ArgumentParser
import Logging

/// The command `signalbox reload`.
struct ReloadCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Makes a running program read its configuration again, and shows what changed.",
        usage: "signalbox reload [<options>]",
        discussion: """
            Does what SIGHUP does, and waits for the result. If the new configuration has errors, the old one stays in \
            effect. One JSON object: isApplied, then the sources and plugins that were added, changed and removed and the \
            keys that need a restart, or the problems.

            EXAMPLES
              signalbox reload
              signalbox reload --config signalbox.yaml

            \(CommandStatus.help([
                .done, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .outputFailed, .protocolBroken,
                .refused,
            ], of: "reload"))
            """
    )

    @OptionGroup var program: ControlArguments

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func perform() async throws -> CommandStatus {
        let line = try await program.client().ask(.reload)
        let result: Result = try ControlClient.decoded(line)
        try await StandardOutput().write(line)
        for problem in result.problems ?? [] {
            DiagnosticOutput.shared.report(
                [problem.at, problem.key, problem.problem].compactMap { $0 }.joined(separator: ": ")
            )
        }
        for deferred in result.needsRestart ?? [] {
            DiagnosticOutput.shared.report("\(deferred.key) needs a restart: \(deferred.reason)", level: .warning)
        }
        return result.isApplied ? .done : .invalidConfiguration
    }

    private struct Result: Decodable {
        struct Problem: Decodable {
            let at: String?
            let key: String?
            let problem: String
        }

        struct Deferred: Decodable {
            let key: String
            let reason: String
        }

        let isApplied: Bool
        let problems: [Problem]?
        let needsRestart: [Deferred]?
    }
}
