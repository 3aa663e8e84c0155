import ArgumentParser
import SignalboxCore
import SignalboxStore

/// The command `signalbox store`, whose subcommands look after the file of a store.
struct StoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Shows what a store contains, checks its file, and copies it.",
        discussion: """
            A configuration with 'store' keeps messages in a file. These commands work on that file, also while a program \
            runs with it.

            EXAMPLES
              signalbox store info --store messages.db
              signalbox store check --store messages.db
              signalbox store backup copy.db --store messages.db

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .outputFailed,
            ], of: "store"))
            """,
        subcommands: [StoreInfoCommand.self, StoreCheckCommand.self, StoreBackupCommand.self]
    )
}

/// The command `signalbox store info`.
struct StoreInfoCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "info",
        abstract: "Shows what a store contains and which process uses it.",
        usage: "signalbox store info [<options>]",
        discussion: """
            One JSON object: path, version, fileBytes, journal (rows and bytes of each source), deadLetters, deadLetterBytes, \
            replays, handledIDs, outcomes, process. 'process' is absent if none uses the store.

            EXAMPLE
              signalbox store info

            \(CommandStatus.help([
                .done, .usage, .invalidConfiguration, .unreadableFile, .outputFailed,
            ], of: "store info"))
            """
    )

    @OptionGroup var store: StoreArguments

    @Flag(help: "JSON also on a terminal.")
    var json = false

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func perform() async throws -> CommandStatus {
        let output = StandardOutput()
        let line = try StoreInfoLine(try store.administration())
        try await output.write(output.isTerminal && !json ? line.columns : line.jsonLine)
        return .done
    }
}

/// Formats what a store contains for output.
struct StoreInfoLine {
    private let path: String
    private let info: StoreInfo
    private let journal: [(source: String, use: JournalUse)]
    private let process: Int32?

    init(_ store: StoreAdministration) throws(StoreError) {
        path = store.path
        info = try store.info()
        journal = info.journal.map { ($0.key.text, $0.value) }.sorted { $0.source < $1.source }
        process = store.holder
    }

    /// The information as one JSON object.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        object.add("path", path)
        object.add("version", info.version)
        object.add("fileBytes", info.fileBytes)
        object.add("journal") { object in
            for (source, use) in journal {
                object.add(source) { object in
                    object.add("rows", use.rows)
                    object.add("bytes", use.bytes)
                }
            }
        }
        object.add("deadLetters", info.deadLetters)
        object.add("deadLetterBytes", info.deadLetterBytes)
        object.add("replays", info.replays)
        object.add("handledIDs", info.handledIDs)
        object.add("outcomes", info.outcomes)
        if let process { object.add("process", Int(process)) }
        return object.line
    }

    /// The information as columns for a terminal.
    var columns: [UInt8] {
        var lines: [UInt8] = []
        func add(_ name: String, _ text: String) {
            lines += TerminalText.line([TerminalText.column(name, width: 14), LineEscape.escaped(text)])
        }
        add("path", path)
        add("version", "\(info.version)")
        add("size", "\(info.fileBytes) bytes")
        for (source, use) in journal { add("journal", "\(source): \(use.rows) messages, \(use.bytes) bytes") }
        add("dead letters", "\(info.deadLetters), \(info.deadLetterBytes) bytes")
        add("to be replayed", "\(info.replays)")
        add("handled ids", "\(info.handledIDs)")
        add("outcomes", "\(info.outcomes)")
        add("used by", process.map { $0 == 0 ? "an unknown process" : "process \($0)" } ?? "no process")
        return lines
    }
}

/// The command `signalbox store check`.
struct StoreCheckCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks every page of a store's file.",
        usage: "signalbox store check [<options>]",
        discussion: """
            Writes 'ok', or one line for each fault, at most 100. To mend a file with faults, stop the program, move the file \
            away with its -wal and -shm, and put a backup in its place.

            EXAMPLE
              signalbox store check --store messages.db

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .outputFailed,
            ], of: "store check"))
            """
    )

    @OptionGroup var store: StoreArguments

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func perform() async throws -> CommandStatus {
        let path = try store.path()
        let faults: [String]
        do throws(StoreError) {
            faults = try StoreAdministration(path: path).check()
        } catch {
            guard error.code == .damaged else { throw error }
            // The file is damaged so much that it cannot be opened.
            faults = ["\(error)"]
        }
        let lines =
            faults.isEmpty
            ? ["ok"] : faults.flatMap { $0.split(separator: "\n") }.map { LineEscape.escaped(String($0)) }
        try await StandardOutput().write(Array(lines.map { "\($0)\n" }.joined().utf8))
        return faults.isEmpty ? .done : .notAsExpected
    }
}

/// The command `signalbox store backup FILE`.
struct StoreBackupCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copies a store to a new file.",
        usage: "signalbox store backup [<options>] <file>",
        discussion: """
            The copy is complete in itself and consistent, also while a program runs with the store. Do not copy the file in \
            another way meanwhile: its latest changes are in a second file.

            EXAMPLE
              signalbox store backup copy.db --store messages.db

            \(CommandStatus.help([
                .done, .usage, .invalidConfiguration, .unreadableFile, .outputFailed,
            ], of: "store backup"))
            """
    )

    @Argument(help: ArgumentHelp("The file to create.", valueName: "file"), completion: .file())
    var file: String

    @OptionGroup var store: StoreArguments

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func perform() async throws -> CommandStatus {
        let administration = try store.administration()
        do throws(StoreError) {
            try administration.backup(to: file)
        } catch {
            throw CommandFailure(.outputFailed, "\(error)")
        }
        return .done
    }
}
