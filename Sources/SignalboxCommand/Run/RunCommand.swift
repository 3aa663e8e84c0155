import AdapterSupport
import ArgumentParser
import Logging
import Signalbox
import SignalboxCore
import SignalboxStore
import WebSocketChat

/// The command `signalbox run CONFIG`.
struct RunCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Receives from the sources of a configuration and calls its plugins.",
        usage: "signalbox run [<options>] <config>",
        discussion: """
            Runs until SIGTERM or SIGINT, or until all sources have ended, then drains: running and waiting calls finish \
            within 'drain_limit'. Messages left after that are not acknowledged and will be redelivered. A second signal \
            ends the program at once. SIGHUP reloads the configuration while messages flow; if the file has an error, the \
            old configuration stays in effect. docs/configuration.md describes the file.

            EXAMPLE
              signalbox run examples/tour/signalbox.yaml --outcomes

            \(CommandStatus.help([
                .done, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .cannotListen,
                .outputFailed, .drainIncomplete, .deadLettersLost, .interrupted, .terminated,
            ], of: "run"))
            """
    )

    @Argument(
        help: ArgumentHelp("The configuration, a YAML file.", valueName: "config"),
        completion: .configuration
    )
    var file: String

    @OptionGroup var options: RunArguments

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func perform() async throws -> CommandStatus {
        try await options.run(file)
    }
}

/// The options that `run` and `serve` share. This type also runs the configuration.
struct RunArguments: ParsableArguments {
    @Flag(help: "Write the outcome of each arrival to stdout, one JSON object per line, with dead letters.")
    var outcomes = false

    @Option(help: "Log level on stderr.")
    var logLevel = Logger.Level.info

    /// Reads the configuration, runs it until the program is stopped, and returns the exit status.
    ///
    /// - Parameter serving: The options of `serve`, or `nil` for `run`.
    func run(_ file: String, serving: ServeRequest? = nil) async throws -> CommandStatus {
        let level = LogThreshold(logLevel)
        let logger = Logger(threshold: level)
        // SIGHUP is handled before anything else, because an unhandled SIGHUP ends the program.
        let hangups = SignalWatch.hangups()
        do throws(InheritedSocketError) { try InheritedSockets.shared.adoptAnnounced() } catch {
            throw CommandFailure(.cannotListen, "\(error)")
        }
        var configuration = try ConfigurationFile.read(file, for: .run)
        logger.warn(of: configuration.warnings, in: file)
        try serving?.apply(to: &configuration, file: file)
        let store = try configuration.store?.open()
        do {
            let start = RunStart(
                file: file,
                serving: serving,
                configuration: configuration,
                store: store,
                level: level,
                logger: logger
            )
            return status(try await run(start, hangups: hangups), closing: store)
        } catch {
            // The error that ended the run says more than one about closing the store.
            try? store?.close()
            throw error
        }
    }

    /// Runs a configuration until the program is stopped.
    private func run(_ start: RunStart, hangups: AsyncStream<Void>) async throws -> RunEnd {
        let (configuration, logger) = (start.configuration, start.logger)
        let output = StandardOutput()
        let listening = start.serving.map { _ in ListenAddressReporter(level: logLevel) }
        var builder = SupervisorBuilder(configuration: configuration, printing: output, logger: logger)
        builder.store = start.store
        if let listening { builder.onChat = { listening.expect($0, isFirst: true) } }
        var onOutcome: (@Sendable (SettledArrival) -> Void)?
        if outcomes { onOutcome = { output.offer(OutcomeLine(settled: $0).runLine) } }
        let supervisor = try builder.supervisor(onOutcome: onOutcome)
        var observers = RunObservers(of: supervisor, configuration, logger: logger)
        builder.health = observers.health
        builder.runsCommands = true
        let adapters = try builder.addSources(to: supervisor)
        if let listening { builder.onChat = { listening.expect($0, isFirst: false) } }
        let reload = ConfigurationReload(
            file: start.file,
            serving: start.serving,
            supervisor: supervisor,
            builder: builder,
            manager: observers.manager
        )
        try await observers.start(supervisor, file: start.file, builder, reload, level: start.level)
        let (processes, groups) = (builder.processes, builder.groups)
        let limit = configuration.supervisor.drainLimit
        var session = SupervisorSession(supervisor: supervisor, output: output)
        session.outputWait = configuration.outputWait
        session.untilReady = { await processes.untilReady() }
        session.onEnd = { failure in
            if let failure { DiagnosticOutput.shared.report("\(failure)") } else { logger.info("drained") }
        }
        let end = await session.run(stop: listening?.failures ?? AsyncStream { _ in }) { [observers] in
            async let programs: Void = processes.run()
            async let manager: Void = observers.serve(adapters, supervisor, logger: logger)
            async let handover: Void = groups.serve(supervisor, within: limit, reload, logger: logger)
            async let notes: Void? = listening?.serve()
            await reload.serve(hangups)
            await handover
            await notes
            await manager
            await programs
        }
        var summary = RunSummary(report: supervisor.report, droppedLines: output.droppedLines, reloads: reload.counts)
        summary.hasStore = start.store != nil
        summary.groups = groups.results
        await observers.end(summary)
        return RunEnd(session: end, summary: summary)
    }

    /// Reports on stderr how the run ended, and returns its exit status.
    private func status(_ end: RunEnd, closing store: Store?) -> CommandStatus {
        let (session, report) = (end.session, end.summary.report)
        if let lost = session.lost { DiagnosticOutput.shared.report("\(lost)") }
        let lostLetters = outcomes || store != nil ? 0 : report.deadLetters
        if lostLetters > 0 {
            DiagnosticOutput.shared.report(
                "\(lostLetters) dead \(lostLetters == 1 ? "letter was" : "letters were") kept in memory and lost with the "
                    + "process; use --outcomes to write each to stdout",
                level: .warning
            )
        }
        let isClosed = store.map(close) ?? true
        DiagnosticOutput.shared.report(end.summary.description, level: .info)
        if let failure = session.failure { return CommandFailure(givingUp: failure).status }
        guard session.lost == nil else { return .outputFailed }
        guard report.isClean else { return .drainIncomplete }
        return lostLetters > 0 || !isClosed ? .deadLettersLost : .done
    }

    /// Closes the store, and reports how many dead letters it keeps.
    ///
    /// - Returns: `false` if the last outcomes could not be written.
    private func close(_ store: Store) -> Bool {
        do throws(StoreError) {
            try store.close()
            let count = try StoreAdministration(path: store.path).info().deadLetters
            if count > 0 {
                DiagnosticOutput.shared.report(
                    "\(count) dead \(count == 1 ? "letter is" : "letters are") kept in \(store.path); 'signalbox dead list "
                        + "--store \(store.path)' shows \(count == 1 ? "it" : "them")",
                    level: .info
                )
            }
            return true
        } catch {
            DiagnosticOutput.shared.report("the last outcomes are not in the store: \(error)")
            return false
        }
    }
}

/// What a run starts with.
private struct RunStart {
    /// The configuration's path.
    let file: String
    let serving: ServeRequest?
    let configuration: RunConfiguration
    /// The open store, or `nil` if the configuration has none.
    let store: Store?
    let level: LogThreshold
    let logger: Logger
}

/// How a run ended, before its store is closed.
private struct RunEnd {
    let session: SupervisorSession.End
    let summary: RunSummary
}

/// Formats the last line of a run, which reports the number of arrivals by outcome.
struct RunSummary: CustomStringConvertible {
    let report: SupervisorReport
    /// The number of `--outcomes` lines that were dropped because the reader of stdout was too slow.
    let droppedLines: Int
    /// How many reloads were applied and how many were refused.
    var reloads = ReloadCounts()
    /// Whether a store keeps dead letters, so that those that did not fit in memory are not dropped.
    var hasStore = false
    /// How the sources have left their groups, or `nil` without a request for that.
    var groups: [GroupHandover.Result]?

    /// The summary as the last line of the answer to a command that waits for the end.
    var line: [UInt8] {
        var object = JSONObject()
        object.add("isDrained", true)
        object.add("isClean", report.isClean)
        object.add("handled", report.total.handled)
        object.add("rejected", report.total.rejected)
        object.add("failed", report.total.failed)
        object.add("abandoned", report.total.abandoned)
        object.add("unsettled", report.unsettled)
        object.add("deadLetters", report.deadLetters)
        object.add("notReturned", texts: report.callsStillRunning)
        if let groups { object.add("groups", objects: groups) { group, entry in group.add(to: &entry) } }
        return object.line
    }

    /// The summary on one line, without a newline.
    var description: String {
        let total = report.total
        var parts = [
            "handled \(total.handled)", "rejected \(total.rejected)", "failed \(total.failed)",
            "abandoned \(total.abandoned)", "dead letters \(report.deadLetters)",
        ]
        if report.deadLettersDropped > 0, !hasStore { parts.append("of these dropped \(report.deadLettersDropped)") }
        if total.lateReturns > 0 { parts.append("returned late \(total.lateReturns)") }
        if total.unreadableItems > 0 { parts.append("unreadable items \(total.unreadableItems)") }
        if report.unsettled > 0 { parts.append("unsettled \(report.unsettled)") }
        if !report.callsStillRunning.isEmpty {
            parts.append("not returned: \(report.callsStillRunning.joined(separator: " "))")
        }
        if droppedLines > 0 { parts.append("outcome lines dropped \(droppedLines)") }
        if let reloads = reloads.description { parts.append(reloads) }
        return parts.joined(separator: ", ")
    }
}
