import ArgumentParser
import Logging

/// `signalbox bridge SCRIPT.js...`.
struct BridgeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bridge",
        abstract: "Runs scripts in a page without a window, and shows what became of each of its messages.",
        discussion: """
            The scripts run in order, in one page, until no timer and no call is left. One JSON object per message, in \
            the order in which they were sent: source, action, id, body, outcome, reason, detail, path, reply. The \
            lines have no times, so the same scripts give the same lines. With --config the page may call the \
            configuration's plugins; its other sources are left alone. Without it every message ends as unknownAction.

            EXAMPLE
              signalbox bridge examples/tour/page.js --config examples/tour/page.yaml

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .outputFailed,
                .timeout, .interrupted, .terminated,
            ]))
            """
    )

    @Argument(help: ArgumentHelp("Files of JavaScript, run in this order.", valueName: "script"))
    var scripts: [String]

    @Option(help: ArgumentHelp("The configuration whose plugins the page may call.", valueName: "file"))
    var config: String?

    @Option(help: ArgumentHelp("Which script source of the configuration the page is.", valueName: "name"))
    var source: String?

    @Option(help: ArgumentHelp("The lines of an earlier run, which these must equal.", valueName: "file"))
    var expect: String?

    @Option(help: "End the page after this time: \(TimeoutOption.form).")
    var timeout: String?

    @Option(help: "What is told on stderr: \(LogChoice.allCases.map(\.rawValue).joined(separator: ", ")).")
    var logLevel = LogChoice.info

    func validate() throws {
        guard source == nil || config != nil else {
            throw ValidationError("--source is a name in a configuration; say which with --config")
        }
        _ = try request()
    }

    func run() async throws {
        let status = await BridgeProgram.status(of: try request(), logger: logLevel.logger)
        throw status.code
    }

    private func request() throws -> BridgeRequest {
        BridgeRequest(
            scripts: scripts,
            config: config,
            source: source,
            expect: expect,
            timeout: try timeout.map(TimeoutOption.duration)
        )
    }
}
