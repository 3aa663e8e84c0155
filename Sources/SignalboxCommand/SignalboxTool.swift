import ArgumentParser
import Foundation
import JSBridge

/// The entry point of the `signalbox` program. It is part of a library because the tests in a different package cannot
/// import a program.
package enum SignalboxEntry {
    /// Reads the process's arguments, runs the command that they name, and ends the process with the command's exit
    /// status.
    package static func main() async {
        await SignalboxTool.main()
    }
}

/// The command `signalbox`. All other commands are its subcommands.
struct SignalboxTool: AsyncParsableCommand {
    /// The version of the program and its libraries.
    static let version = "0.1.0-dev"

    static let configuration = CommandConfiguration(
        commandName: "signalbox",
        abstract: "Dispatches messages from many sources to plugins, and shows each outcome.",
        discussion: """
            stdout carries data: one JSON object per line, or aligned text on a terminal. stderr carries diagnostics.

            EXAMPLE
              signalbox subscribe mqtt://127.0.0.1:1883 --topic 'push/{device}/{action}' --count 1

            \(CommandStatus.help(CommandStatus.allCases))
            """,
        version: "signalbox \(version)",
        subcommands: [
            RunCommand.self, ServeCommand.self, CheckCommand.self, SubscribeCommand.self, PublishCommand.self,
            RequestCommand.self, ConnectCommand.self, BridgeCommand.self, SendCommand.self, ParseCommand.self,
            NavigateCommand.self, ExplainCommand.self,
        ]
    )

    static func main() async {
        if PageWorker.isRequested { await ScriptWorker.serve() }
        // By default, a closed pipe ends the process. When the signal is ignored, `write(2)` fails with EPIPE instead,
        // and the output handles this error.
        signal(SIGPIPE, SIG_IGN)
        // In the same way, writing to a file that has reached its size limit must fail instead of ending the process.
        signal(SIGXFSZ, SIG_IGN)
        disableCoreFiles()
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand, !(command is SignalboxTool) {
                if let problem = SystemResources.missing() {
                    try? OutputDescriptor.standardError.write(Array("\(problem)\n".utf8))
                    terminate(with: CommandStatus.cannotListen.rawValue)
                }
                try await command.run()
            } else {
                try command.run()
            }
            terminate(with: CommandStatus.done.rawValue)
        } catch let status as ExitCode {
            terminate(with: status.rawValue)
        } catch {
            exit(withError: error)
        }
    }

    /// Disables core files, because they would contain passwords and tokens.
    private static func disableCoreFiles() {
        if let setting = getenv("SIGNALBOX_CORE_FILES"), setting.pointee != 0 { return }
        var limit = rlimit(rlim_cur: 0, rlim_max: 0)
        #if canImport(Glibc)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        #else
        setrlimit(RLIMIT_CORE, &limit)
        #endif
    }

    /// Ends the program immediately. All output has already been written. `exit` would run the libraries' exit handlers
    /// while their threads may still be running, which could crash a program that has finished its work.
    private static func terminate(with status: Int32) -> Never {
        fflush(nil)
        _exit(status)
    }
}
