import AdapterSupport
import ArgumentParser
import JSBridge

/// The entry point of the `signalbox` program. It is part of a library because the tests in a different package cannot
/// import a program.
package enum SignalboxEntry {
    /// Reads the process's arguments, runs the command that they name, and ends the process with the command's exit
    /// status.
    ///
    /// - Parameter commit: The commit that the program was built from, or an empty text if the build did not say.
    package static func main(commit: String) async {
        BuildInformation.set(commit: commit)
        await SignalboxTool.main()
    }
}

/// The command `signalbox`. All other commands are its subcommands.
struct SignalboxTool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "signalbox",
        abstract: "Dispatches messages from many sources to plugins, and shows each outcome.",
        discussion: """
            stdout carries data: one JSON object per line, or aligned text on a terminal. stderr carries diagnostics.
            An error that has a code ends with it, in brackets. docs/operations/codes.md at
            https://github.com/signalbox-swift/signalbox says what each code means, and what to do.

            EXAMPLES
              signalbox subscribe mqtt://127.0.0.1:1883 -t 'push/{device}/{action}' -C 1
              signalbox check signalbox.yaml && signalbox run signalbox.yaml --outcomes

            \(CommandStatus.help(CommandStatus.allCases))
            """,
        version: BuildInformation.description,
        subcommands: [
            RunCommand.self, ServeCommand.self, CheckCommand.self, SubscribeCommand.self, PublishCommand.self,
            RequestCommand.self, ConnectCommand.self, BridgeCommand.self, SendCommand.self, ParseCommand.self,
            NavigateCommand.self, ExplainCommand.self, TestCommand.self, GraphCommand.self, DeadCommand.self,
            LogCommand.self, StoreCommand.self, StatusCommand.self, TapCommand.self, ReloadCommand.self,
            DrainCommand.self, LogLevelCommand.self, TopCommand.self,
        ]
    )

    static func main() async {
        #if JavaScriptCore
        if PageWorker.isRequested { await ScriptWorker.serve() }
        #endif
        // By default, a closed pipe ends the process. When the signal is ignored, `write(2)` fails with EPIPE instead,
        // and the output handles this error.
        signal(SIGPIPE, SIG_IGN)
        // In the same way, writing to a file that has reached its size limit must fail instead of ending the process.
        signal(SIGXFSZ, SIG_IGN)
        disableCoreFiles()
        StandardDescriptors.reserve()
        let arguments = RawArguments.process
        do {
            var command = try parse(arguments)
            if let options = (command as? any DiagnosingCommand)?.diagnostics {
                DiagnosticOutput.shared.use(options.logFormat, isQuiet: options.quiet)
            }
            if var command = command as? any AsyncParsableCommand, !(command is SignalboxTool) {
                if let problem = SystemResources.missing() {
                    write(problem, to: .standardError)
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
            terminate(with: report(error, of: arguments))
        }
    }

    private static func parse(_ arguments: [String]) throws -> any ParsableCommand {
        let isSpecial = arguments.contains { RawArguments.isEscaped($0) || $0.hasPrefix("-h") || $0 == "help" }
        if isSpecial, let refusal = CommandTable.shared.refusal(of: arguments) { throw ValidationError(refusal) }
        return try parseAsRoot(arguments)
    }

    /// Writes the help, the version or an error about the arguments, and returns the exit status.
    private static func report(_ error: any Error, of arguments: [String]) -> Int32 {
        let status = exitCode(for: error).rawValue
        var text = fullMessage(for: error)
        if CompletionScript.isRequested(by: arguments) {
            let names = configuration.subcommands.compactMap { $0.configuration.commandName }
            text = CompletionScript.completed(text, commands: names)
        }
        guard status != CommandStatus.done.rawValue else {
            guard let failure = write(text, to: .standardOutput), failure.code != EPIPE else { return status }
            write("signalbox: \(OutputFailure.system(failure.description))", to: .standardError)
            return CommandStatus.outputFailed.rawValue
        }
        var shown = text
        if !(error is ValidationError), let sentence = CommandTable.shared.unknownName(in: arguments) {
            // The parser's own message may be about a consequence, such as a missing argument.
            let usage = text.firstRange(of: "Usage: ").map { text[$0.lowerBound...] } ?? ""
            shown = "Error: \(sentence)\n\(usage)"
        }
        write(RawArguments.shown(shown), to: .standardError)
        return status
    }

    /// Writes text and a newline directly, because the libraries' own functions report no error.
    @discardableResult
    private static func write(_ text: String, to output: OutputDescriptor) -> SystemError? {
        do throws(SystemError) {
            try output.write(Array((text.hasSuffix("\n") ? text : "\(text)\n").utf8))
            return nil
        } catch {
            return error
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
        ProgramGroups.shared.endAll()
        fflush(nil)
        _exit(status)
    }
}
