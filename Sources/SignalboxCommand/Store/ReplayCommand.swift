import ArgumentParser
import Logging
import Signalbox
import SignalboxCore
import SignalboxStore

/// The command `signalbox dead replay`.
struct DeadReplayCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Dispatches dead letters again, with the configuration of today.",
        usage: "signalbox dead replay [<options>] [<number> ...]",
        discussion: """
            If a program runs with the store, it replays the letters, and this command shows each result. Otherwise, the \
            command calls the plugins of the configuration itself; sources are not connected. A letter that is handled leaves \
            the store. One that fails again stays, with one failure more.

            Letters whose result is not known yet when the command ends stay requested: the next run of the program replays \
            them. One JSON object per letter: number, source, action, outcome, reason, detail, attempts, failures. With \
            --dry-run, that of 'explain'.

            EXAMPLE
              signalbox dead replay 7 --dry-run
              signalbox dead replay --reason invalidBody --rate 10

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .outputFailed,
                .timeout, .interrupted, .terminated,
            ], of: "dead replay"))
            """
    )

    @OptionGroup var letters: LetterSelection
    @OptionGroup var store: StoreArguments

    @Flag(help: "Show what would happen to each letter, and change nothing.")
    var dryRun = false

    @Option(help: ArgumentHelp("Dispatch the letters as this action.", valueName: "action"))
    var to: String?

    @Option(help: ArgumentHelp("At most this many letters in a second.", valueName: "number"))
    var rate: Int?

    @Option(
        name: [.customShort("W"), .customLong("timeout")],
        help: "Wait at most this time for the results: \(TimeoutOption.form).",
        transform: TimeoutOption.duration
    )
    var timeout: Duration?

    @Flag(help: "JSON also on a terminal.")
    var json = false

    @Option(help: "Log level on stderr.")
    var logLevel = Logger.Level.warning

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func validate() throws {
        guard rate.map({ (1...1_000_000).contains($0) }) ?? true else {
            throw ValidationError("--rate must be 1 to 1000000")
        }
        _ = try action()
    }

    func perform() async throws -> CommandStatus {
        let administration = try store.administration()
        var wanted: [ReplayedLetter] = []
        try administration.forEachLetter(try letters.filter()) { wanted.append(ReplayedLetter($0)) }
        let isComplete = letters.reportMissing(wanted.map(\.number))
        guard !wanted.isEmpty else {
            if isComplete { DiagnosticOutput.shared.report("no dead letter was selected", level: .info) }
            return isComplete ? .done : .notAsExpected
        }
        let output = StandardOutput()
        let status =
            dryRun
            ? try await preview(wanted, in: administration, output)
            : try await replay(wanted, in: administration, output)
        return status == .done && !isComplete ? .notAsExpected : status
    }

    private func action() throws -> ActionName? { try to.map { try LetterFilterArguments.action($0, of: "--to") } }

    private func preview(
        _ wanted: [ReplayedLetter],
        in administration: StoreAdministration,
        _ output: StandardOutput
    ) async throws -> CommandStatus {
        let configuration = try ConfigurationFile.read(store.configurationFile, for: .explain)
        let preview = try ReplayPreview(configuration)
        var status = CommandStatus.done
        for letter in wanted {
            // A letter that is gone has been replayed or deleted meanwhile.
            guard let entry = try administration.letters([letter.number]).first else { continue }
            let line = try preview.line(about: entry, as: try action())
            if !line.isCalled { status = .notAsExpected }
            try await output.write(output.isTerminal && !json ? line.terminalLines : line.jsonLine)
        }
        return status
    }

    private func replay(
        _ wanted: [ReplayedLetter],
        in administration: StoreAdministration,
        _ output: StandardOutput
    ) async throws -> CommandStatus {
        let isRunning = administration.holder != nil
        let run = isRunning ? nil : try ReplayRun(wanted, as: try action(), try configuration(), logger: logger)
        var filter = DeadLetterFilter()
        filter.numbers = wanted.map(\.number)
        let requested = try administration.requestReplay(filter, as: try action(), perSecond: rate)
        let known = Dictionary(wanted.map { ($0.number, $0) }) { first, _ in first }
        let watch = ReplayWatch(
            requested.compactMap { known[$0] },
            in: administration,
            output: output,
            isText: output.isTerminal && !json
        )
        let interruption = if let run { try await run.replay(watch, timeout) } else { await watch.follow(for: timeout) }
        return try await watch.status(interruption)
    }

    private var logger: Logger { Logger(ofCommandAt: logLevel, hasPlugins: true) }

    /// Returns the configuration whose plugins this command calls, with the selected store.
    private func configuration() throws -> RunConfiguration {
        var configuration = try ConfigurationFile.read(store.configurationFile, for: .plugins)
        let options = configuration.store?.options ?? StoreOptions()
        configuration.store = StoreSection(path: try store.path(), options: options)
        return configuration
    }
}

/// A dead letter as it was before its replay.
struct ReplayedLetter: Sendable {
    let number: Int64
    let source: SourceName
    /// The action, or `nil` if the message could not be read.
    let action: ActionName?
    /// How often the message had failed.
    let failures: Int

    init(_ entry: DeadLetterEntry) {
        number = entry.number
        source = entry.letter.message.source
        action = entry.letter.message.action
        failures = entry.failures
    }
}
