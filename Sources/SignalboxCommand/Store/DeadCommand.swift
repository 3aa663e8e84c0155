import AdapterSupport
import ArgumentParser
import Logging
import SignalboxCore
import SignalboxStore

/// The command `signalbox dead`, whose subcommands work on the dead letters of a store.
struct DeadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead",
        abstract: "Shows, replays, copies and deletes the dead letters of a store.",
        discussion: """
            A dead letter is a message that was rejected or failed. A configuration with 'store' keeps them in a file. These \
            commands work on that file, also while a program runs with it.

            EXAMPLES
              signalbox dead list --store messages.db --since 2h
              signalbox dead show 7 --store messages.db
              signalbox dead replay 7 --config examples/tour/signalbox.yaml --dry-run
              signalbox dead export --store messages.db
              signalbox dead import letters.jsonl --store messages.db
              signalbox dead purge --reason expired --yes --store messages.db

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .outputFailed,
                .timeout, .interrupted, .terminated,
            ], of: "dead"))
            """,
        subcommands: [
            DeadListCommand.self, DeadShowCommand.self, DeadReplayCommand.self, DeadExportCommand.self,
            DeadImportCommand.self, DeadPurgeCommand.self,
        ]
    )
}

/// The command `signalbox dead list`.
struct DeadListCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists dead letters, the one that failed last at the end.",
        usage: "signalbox dead list [<options>]",
        discussion: """
            One JSON object per line: number, lastAt, source, action, reason, detail, attempts, failures. 'failures' is 1, \
            and one more for each replay that failed.

            EXAMPLE
              signalbox dead list --reason invalidBody --since 2h

            \(CommandStatus.help([
                .done, .usage, .invalidConfiguration, .unreadableFile, .outputFailed,
            ], of: "dead list"))
            """
    )

    @OptionGroup var filters: LetterFilterArguments
    @OptionGroup var store: StoreArguments

    @Flag(help: "JSON also on a terminal.")
    var json = false

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func perform() async throws -> CommandStatus {
        let output = StandardOutput()
        let isText = output.isTerminal && !json
        try await store.administration().forEachLetter(
            try filters.filter(),
            waitingFor: { entry in
                let line = LetterLine(entry: entry)
                try await output.write(isText ? line.listColumns : line.listLine)
            }
        )
        return .done
    }
}

/// The command `signalbox dead show NUMBER`.
struct DeadShowCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows everything about one dead letter, with the original message.",
        usage: "signalbox dead show [<options>] <number>",
        discussion: """
            One JSON object: the message's origin and form, the outcome, the times, the stages that the message passed and the \
            one that stopped it ('explanation'), and the message itself ('original').

            EXAMPLE
              signalbox dead show 7

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .outputFailed,
            ], of: "dead show"))
            """
    )

    @Argument(help: ArgumentHelp("The number of the dead letter, as 'dead list' shows it.", valueName: "number"))
    var number: Int64

    @OptionGroup var store: StoreArguments

    @Flag(help: "JSON also on a terminal.")
    var json = false

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func perform() async throws -> CommandStatus {
        let output = StandardOutput()
        guard let entry = try store.administration().letters([number]).first else {
            throw CommandFailure(.notAsExpected, "there is no dead letter \(number)")
        }
        let line = LetterLine(entry: entry)
        try await output.write(output.isTerminal && !json ? line.wholeColumns : line.wholeLine)
        return .done
    }
}

/// The command `signalbox dead purge`.
struct DeadPurgeCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge",
        abstract: "Deletes dead letters.",
        usage: "signalbox dead purge [<options>] [<number> ...]",
        discussion: """
            Asks before it deletes anything. Without a terminal, --yes is required. The file keeps its size; later messages \
            use the space.

            EXAMPLE
              signalbox dead purge --reason expired --yes

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .outputFailed,
            ], of: "dead purge"))
            """
    )

    @OptionGroup var letters: LetterSelection
    @OptionGroup var store: StoreArguments

    @Flag(help: "Do not ask.")
    var yes = false

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func perform() async throws -> CommandStatus {
        let administration = try store.administration()
        // What the user confirms is deleted, and nothing that fails meanwhile.
        let numbers = try administration.numbers(try letters.filter())
        let isComplete = letters.reportMissing(numbers)
        let count = "\(numbers.count) dead letter\(numbers.count == 1 ? "" : "s")"
        guard try yes || numbers.isEmpty || confirms("Delete \(count) of \(administration.path)?") else {
            throw CommandFailure(.notAsExpected, "nothing was deleted")
        }
        var deleted = 0
        var rest = numbers[...]
        while !rest.isEmpty {
            var some = DeadLetterFilter()
            some.numbers = Array(rest.prefix(1_000))
            deleted += try administration.purge(some)
            rest = rest.dropFirst(1_000)
        }
        DiagnosticOutput.shared.report("\(deleted) deleted", level: .info)
        return isComplete ? .done : .notAsExpected
    }

    /// Asks a question on the terminal.
    ///
    /// - Throws: ``CommandFailure`` if there is no terminal.
    private func confirms(_ question: String) throws -> Bool {
        guard isatty(STDIN_FILENO) == 1, OutputDescriptor.standardError.isTerminal else {
            throw CommandFailure(.usage, "there is no terminal to ask on; add --yes to delete the dead letters")
        }
        try OutputDescriptor.standardError.write(Array("\(LineEscape.escaped(question)) [y/N] ".utf8))
        let answer = readLine()?.lowercased() ?? ""
        return ["y", "yes"].contains(answer)
    }
}
