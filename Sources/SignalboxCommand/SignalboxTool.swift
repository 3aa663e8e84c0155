import ArgumentParser
import Foundation

/// The program `signalbox`.
@main
struct SignalboxTool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "signalbox",
        abstract: "Dispatches messages from many sources to plugins, and shows what became of each.",
        discussion: """
            stdout carries data, one JSON object a line unless it is a terminal; stderr carries diagnostics.

            EXAMPLE
              signalbox subscribe mqtt://127.0.0.1:1883 --topic 'push/{device}/{action}' --count 1

            \(CommandStatus.help(CommandStatus.allCases))
            """,
        subcommands: [
            RunCommand.self, CheckCommand.self, SubscribeCommand.self, BridgeCommand.self, SendCommand.self,
            ParseCommand.self, NavigateCommand.self, ExplainCommand.self,
        ]
    )

    static func main() async {
        // A reader that went away is an error of write(2), which is handled, and not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        await main(nil)
    }
}
