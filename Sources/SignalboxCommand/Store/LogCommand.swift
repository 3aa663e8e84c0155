import AdapterSupport
import ArgumentParser
import Logging
import SignalboxCore
import SignalboxStore

/// The command `signalbox log`.
struct LogCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Shows what came of the messages of a store, also while a program runs with it.",
        usage: "signalbox log [<options>]",
        discussion: """
            One JSON object per outcome, the latest at the end: settledAt, source, action, id, outcome, reason, detail, path, \
            plugin, attempts, receivedAt, and isDuplicate and isRedelivered where they are true. A store keeps outcomes only if \
            its configuration has 'history', such as 'store: { path: messages.db, history: { count: 100000 } }'.

            EXAMPLES
              signalbox log --outcome failed --since 2h
              signalbox log --follow --action payment

            \(CommandStatus.help([
                .done, .usage, .invalidConfiguration, .unreadableFile, .outputFailed, .interrupted, .terminated,
            ], of: "log"))
            """
    )

    /// How many outcomes `--follow` shows at first.
    private static let shownBeforeFollowing = 10

    @Flag(
        name: [.customShort("f"), .customLong("follow")],
        help: "Show the last 10, then each new one until a signal."
    )
    var follow = false

    @Option(help: "Only of this action.")
    var action: String?

    @Option(help: ArgumentHelp("Only from this source.", valueName: "name"))
    var source: String?

    @Option(help: "Only with this outcome, such as failed, or with this reason, such as invalidBody.")
    var outcome: String?

    @Option(
        help: ArgumentHelp("Only those since, such as 2h or 2026-01-31T08:00:00Z.", valueName: "time"),
        transform: PastTime.time
    )
    var since: WallTime?

    @Option(help: ArgumentHelp("At most this many, the latest.", valueName: "number"))
    var limit: Int?

    @OptionGroup var store: StoreArguments

    @Flag(help: "JSON also on a terminal.")
    var json = false

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func validate() throws {
        guard limit.map({ $0 >= 1 }) ?? true else { throw ValidationError("--limit must be at least 1") }
        _ = try filter()
    }

    func perform() async throws -> CommandStatus {
        let administration = try store.administration()
        let output = StandardOutput()
        let reader = HistoryReader(administration, output: output, isText: output.isTerminal && !json)
        var filter = try filter()
        if follow, since == nil, limit == nil { filter.limit = LogCommand.shownBeforeFollowing }
        guard follow else {
            do {
                try await reader.write(filter)
            } catch OutputFailure.closed {
                return .done
            }
            if try administration.lastOutcome() == 0 {
                DiagnosticOutput.shared.report(
                    "this store has no history; 'store: { path: PATH, history: {} }' in a configuration keeps one",
                    level: .info
                )
            }
            return .done
        }
        return try await reader.follow(filter)
    }

    private func filter() throws -> HistoryFilter {
        var filter = HistoryFilter()
        filter.source = try source.map { name in try ValidationError.checked("--source") { try SourceName(name) } }
        filter.action = try action.map { try LetterFilterArguments.action($0, of: "--action") }
        filter.outcome = outcome
        filter.since = since
        filter.limit = limit
        return filter
    }
}

/// Reads the history of a store, and writes each outcome as a line.
actor HistoryReader {
    /// How often the store is read while there is nothing new.
    private static let pause: Duration = .milliseconds(100)
    /// The maximum number of outcomes that are read at once.
    private static let atOnce = 1_000

    private let store: StoreAdministration
    private let output: StandardOutput
    private let isText: Bool
    /// The number of the last outcome that was read.
    private var last: Int64 = 0

    init(_ store: StoreAdministration, output: StandardOutput, isText: Bool) {
        self.store = store
        self.output = output
        self.isText = isText
    }

    /// Writes the selected outcomes.
    ///
    /// - Throws: `StoreError` if the store cannot be read, or `OutputFailure`.
    func write(_ filter: HistoryFilter) async throws {
        var filter = filter
        while true {
            filter.after = last > 0 ? last : nil
            let entries = try await FileContent.waiting { [store, filter] in
                Result { try store.outcomes(filter, first: HistoryReader.atOnce) }
            }.get()
            for entry in entries {
                let line = HistoryLine(record: entry.record)
                try await output.write(isText ? line.columns : line.jsonLine)
                last = entry.number
            }
            if entries.count < HistoryReader.atOnce { return }
        }
    }

    /// Writes the selected outcomes, and then each new one until a signal or until the reader of the output is gone.
    func follow(_ filter: HistoryFilter) async throws -> CommandStatus {
        let signals = SignalWatch.begin()
        return try await withThrowingTaskGroup(of: CommandStatus?.self) { group in
            group.addTask { await signals.interruption(timeout: nil) }
            group.addTask { [output] in
                guard let failure = await output.failure.valueUnlessCancelled() else { return nil }
                guard failure == .closed else { throw failure }
                return .done
            }
            group.addTask { try await self.followUntilCancelled(filter) }
            defer { group.cancelAll() }
            return try await group.next().flatMap { $0 } ?? .done
        }
    }

    private func followUntilCancelled(_ filter: HistoryFilter) async throws -> CommandStatus? {
        var filter = filter
        while !Task.isCancelled {
            // Known before the outcomes are read, so that none is missed, and those that are not selected are read only once.
            let newest = try await FileContent.waiting { [store] in Result { try store.lastOutcome() } }.get()
            if newest > last {
                try await write(filter)
                last = max(last, newest)
            } else {
                try? await Task.sleep(for: HistoryReader.pause)
            }
            // All later ones are shown.
            filter.limit = nil
        }
        return nil
    }
}

/// Formats an outcome of a history for output.
struct HistoryLine {
    let record: OutcomeRecord

    /// The outcome as one JSON object. The members are those of `run --outcomes` where both have them.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        object.add("settledAt", WallTimeText.utc(record.settledAt))
        object.add("source", record.source.text)
        object.add("action", record.action)
        object.add("id", record.id)
        object.add("outcome", record.outcome)
        if record.reason != record.outcome {
            object.add("reason", record.reason)
            object.add("detail", record.detail)
        }
        object.add("path", record.path)
        object.add("plugin", record.plugin)
        object.add("attempts", record.attempts)
        if record.isDuplicate { object.add("isDuplicate", true) }
        if record.isRedelivered { object.add("isRedelivered", true) }
        object.add("receivedAt", WallTimeText.utc(record.receivedAt))
        return object.line
    }

    /// The outcome as columns for a terminal.
    var columns: [UInt8] {
        let color: TerminalColor? =
            switch record.outcome {
            case "handled": .green
            case "abandoned": .yellow
            default: .red
            }
        let notes = [
            record.reason == record.outcome ? "" : "\(record.reason): \(record.detail)",
            record.isDuplicate ? "duplicate" : "", record.isRedelivered ? "redelivered" : "",
        ]
        return TerminalText.line([
            TerminalText.column(WallTimeText.utc(record.settledAt), width: 24),
            TerminalText.column(record.outcome, width: 9, color: color),
            TerminalText.column(record.source.text, width: 10),
            TerminalText.column(record.action ?? "(unreadable)", width: 16),
            TerminalText.column(record.id ?? "", width: 18),
            LineEscape.escaped(notes.filter { !$0.isEmpty }.joined(separator: ", ")),
        ])
    }
}
