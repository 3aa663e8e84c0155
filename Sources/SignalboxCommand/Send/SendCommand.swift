import ArgumentParser
import Logging
import SignalboxCore

/// `signalbox send ACTION`.
struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Sends one action to the plugin of a configuration, and shows what became of it.",
        discussion: """
            It comes from the source 'internal', which the plugin's 'from' must name. No source of the configuration \
            is used. One JSON object: source, action, id, body, outcome, reason, detail, path, reply.

            EXAMPLE
              signalbox send payment --body '{}' --config examples/tour/page.yaml

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .outputFailed,
                .timeout, .interrupted, .terminated,
            ]))
            """
    )

    @Argument(help: "The action's name.")
    var action: String

    @Option(help: ArgumentHelp("The body; '-' reads it from stdin; null without it.", valueName: "json"))
    var body: String?

    @Option(help: "The id; one is assigned without it, and not shown.")
    var id: String?

    @Option(help: ArgumentHelp("The configuration whose plugin is called.", valueName: "file"))
    var config: String

    @Option(help: "Wait at most this time for the outcome: \(TimeoutOption.form).")
    var timeout: String?

    @Option(help: "What is told on stderr: \(LogChoice.allCases.map(\.rawValue).joined(separator: ", ")).")
    var logLevel = LogChoice.warning

    func validate() throws {
        _ = try request()
    }

    func run() async throws {
        let status = await SendProgram.status(of: try request(), logger: logLevel.logger)
        throw status.code
    }

    private func request() throws -> SendRequest {
        let name: ActionName
        do throws(NameError) {
            name = try ActionName(action)
        } catch {
            throw ValidationError("\(error)")
        }
        let actionID = id.flatMap(ActionID.init)
        guard id == nil || actionID != nil else {
            throw ValidationError("--id: an id has 1 to \(ActionID.maximumLength) bytes")
        }
        return SendRequest(
            action: name,
            id: actionID,
            body: BodyInput(body),
            config: config,
            timeout: try timeout.map(TimeoutOption.duration)
        )
    }
}
