import ArgumentParser
import Logging
import Signalbox
import SignalboxCore

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
        let logger = Logger(level: logLevel)
        // SIGHUP is handled before anything else, because an unhandled SIGHUP ends the program.
        let hangups = SignalWatch.hangups()
        var configuration = try ConfigurationFile.read(file, for: .run)
        logger.warn(of: configuration.warnings, in: file)
        try serving?.apply(to: &configuration, file: file)
        let output = StandardOutput()
        let listening = serving.map { _ in ListenAddressReporter(level: logLevel) }
        var builder = SupervisorBuilder(configuration: configuration, printing: output, logger: logger)
        if let listening { builder.onChat = { listening.expect($0, isFirst: true) } }
        var onOutcome: (@Sendable (SettledArrival) -> Void)?
        if outcomes { onOutcome = { output.offer(OutcomeLine(settled: $0).runLine) } }
        let supervisor = try builder.supervisor(onOutcome: onOutcome)
        try builder.addSources(to: supervisor)
        if let listening { builder.onChat = { listening.expect($0, isFirst: false) } }
        let reload = ConfigurationReload(file: file, serving: serving, supervisor: supervisor, builder: builder)
        var session = SupervisorSession(supervisor: supervisor, output: output)
        session.outputWait = configuration.outputWait
        session.onEnd = { failure in
            if let failure { DiagnosticOutput.shared.report("\(failure)") } else { logger.info("drained") }
        }
        let end = await session.run(stop: listening?.failures ?? AsyncStream { _ in }) {
            async let notes: Void? = listening?.serve()
            await reload.serve(hangups)
            await notes
        }
        let report = supervisor.report
        let summary = RunSummary(report: report, droppedLines: output.droppedLines, reloads: reload.counts)
        return status(end, report, summary)
    }

    /// Reports on stderr how the run ended, and returns its exit status.
    private func status(
        _ end: SupervisorSession.End,
        _ report: SupervisorReport,
        _ summary: RunSummary
    ) -> CommandStatus {
        if let lost = end.lost { DiagnosticOutput.shared.report("\(lost)") }
        let lostLetters = outcomes ? 0 : report.deadLetters
        if lostLetters > 0 {
            DiagnosticOutput.shared.report(
                "\(lostLetters) dead \(lostLetters == 1 ? "letter was" : "letters were") kept in memory and lost with the "
                    + "process; use --outcomes to write each to stdout",
                level: .warning
            )
        }
        DiagnosticOutput.shared.report(summary.description, level: .info)
        if let failure = end.failure { return CommandFailure(givingUp: failure).status }
        guard end.lost == nil else { return .outputFailed }
        guard report.isClean else { return .drainIncomplete }
        return lostLetters > 0 ? .deadLettersLost : .done
    }
}

/// Formats the last line of a run, which reports the number of arrivals by outcome.
struct RunSummary: CustomStringConvertible {
    let report: SupervisorReport
    /// The number of `--outcomes` lines that were dropped because the reader of stdout was too slow.
    let droppedLines: Int
    /// How many reloads were applied and how many were refused.
    var reloads = ReloadCounts()

    /// The summary on one line, without a newline.
    var description: String {
        let total = report.total
        var parts = [
            "handled \(total.handled)", "rejected \(total.rejected)", "failed \(total.failed)",
            "abandoned \(total.abandoned)", "dead letters \(report.deadLetters)",
        ]
        if report.deadLettersDropped > 0 { parts.append("of these dropped \(report.deadLettersDropped)") }
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
