import ArgumentParser
import Logging
import SignalboxCore
import SignalboxStore

/// The command `signalbox dead export`.
struct DeadExportCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Writes dead letters with their messages, for 'dead import'.",
        usage: "signalbox dead export [<options>]",
        discussion: """
            One JSON object per line, with everything but the number. The letters stay in the store.

            EXAMPLE
              signalbox dead export --since 7d

            \(CommandStatus.help([
                .done, .usage, .invalidConfiguration, .unreadableFile, .outputFailed,
            ], of: "dead export"))
            """
    )

    @OptionGroup var filters: LetterFilterArguments
    @OptionGroup var store: StoreArguments

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func perform() async throws -> CommandStatus {
        let output = StandardOutput()
        try await store.administration().forEachLetter(
            try filters.filter(),
            waitingFor: { entry in
                try await output.write(LetterLine(entry: entry).exportLine)
            }
        )
        return .done
    }
}

/// The command `signalbox dead import`.
struct DeadImportCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Adds dead letters that 'dead export' wrote to a store.",
        usage: "signalbox dead import [<options>] [<file>]",
        discussion: """
            Reads all lines first. If one is wrong, it says which and why, and adds nothing. The letters get new numbers. \
            Importing twice adds them twice.

            EXAMPLE
              signalbox dead import letters.jsonl --store messages.db

            \(CommandStatus.help([
                .done, .usage, .invalidConfiguration, .unreadableFile, .outputFailed,
            ], of: "dead import"))
            """
    )

    @Argument(
        help: ArgumentHelp("The file with the lines; by default stdin.", valueName: "file"),
        completion: .file()
    )
    var file: String?

    @OptionGroup var store: StoreArguments

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func perform() async throws -> CommandStatus {
        let administration = try store.administration()
        let input = InputSource(path: file ?? "-")
        let entries: [DeadLetterEntry]
        do {
            entries = try await read(input)
        } catch let error as SystemError {
            throw CommandFailure(.unreadableFile, "\(input.name): cannot be read: \(error)")
        }
        try administration.add(entries)
        DiagnosticOutput.shared.report("\(entries.count) imported", level: .info)
        return .done
    }

    /// Reads all lines, up to as many letters and bytes as a store keeps by default. Empty lines are skipped.
    private func read(_ input: InputSource) async throws -> [DeadLetterEntry] {
        let limits = DeadLetterRetention()
        var entries: [DeadLetterEntry] = []
        var bytes = 0
        var number = 0
        var reader = LineReader(try await input.reader(), limit: ImportedLetter.limits.bytes)
        while let lines = try await reader.next() {
            for line in lines {
                number += 1
                guard !line.bytes.isEmpty else { continue }
                do throws(ImportError) {
                    entries.append(try ImportedLetter.entry(line))
                } catch {
                    throw CommandFailure(
                        .invalidConfiguration,
                        "\(input.name):\(number): \(error); nothing was imported"
                    )
                }
                bytes += entries.last?.letter.message.original.count ?? 0
                guard entries.count <= limits.count, bytes <= limits.bytes else {
                    throw CommandFailure(
                        .invalidConfiguration,
                        "\(input.name):\(number): more than \(limits.count) letters or \(limits.bytes) bytes; import the file in "
                            + "parts; nothing was imported"
                    )
                }
            }
        }
        return entries
    }
}
