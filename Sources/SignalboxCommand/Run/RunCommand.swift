import ArgumentParser
import Logging
import Signalbox
import SignalboxCore

/// `signalbox run CONFIG`.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Receives from the sources of a configuration and calls its plugins.",
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
            ]))
            """
    )

    @Argument(help: ArgumentHelp("The configuration, a YAML file.", valueName: "config"))
    var file: String

    @Flag(help: "Write the outcome of each arrival to stdout, one JSON object per line, with dead letters.")
    var outcomes = false

    @Option(help: "Log level on stderr: \(LogChoice.allCases.map(\.rawValue).joined(separator: ", ")).")
    var logLevel = LogChoice.info

    func run() async throws {
        let status = await RunProgram.status(file: file, outcomes: outcomes, logger: logLevel.logger)
        throw status.code
    }
}

/// A running configuration: the supervisor with its sources and plugins.
struct RunProgram {
    let supervisor: Supervisor
    let output: StandardOutput
    let logger: Logger
    /// Whether stdout receives a line for each outcome, dead letters included.
    let outcomes: Bool
    let reload: ConfigurationReload
    let hangups: HangupWatch
    /// Reports where chats listen, for `serve`.
    let listening: ListenAddressReporter?

    /// Reads the file, runs until stopped, and returns the exit status. All diagnostics are written when it returns.
    ///
    /// - Parameter serving: The options of `serve`, or `nil` for `run`.
    static func status(file: String, outcomes: Bool, serving: ServeRequest? = nil, logger: Logger) async
        -> CommandStatus
    {
        // Before anything else, because an unhandled SIGHUP ends the program.
        let hangups = await HangupWatch.begin()
        do {
            var configuration = try ConfigurationFile.read(file, for: .run)
            logger.warn(of: configuration.warnings, in: file)
            try serving?.apply(to: &configuration, file: file)
            let output = StandardOutput()
            let listening = serving.map { _ in ListenAddressReporter(level: logger.logLevel) }
            var builder = SupervisorBuilder(configuration: configuration, printing: .output(output), logger: logger)
            if let listening { builder.onChat = { listening.expect($0) } }
            var onOutcome: (@Sendable (SettledArrival) -> Void)?
            if outcomes { onOutcome = { output.offer(OutcomeLine($0).runLine) } }
            let supervisor = try builder.supervisor(onOutcome: onOutcome)
            try builder.addSources(to: supervisor)
            listening?.finishStartup()
            let reload = ConfigurationReload(file: file, serving: serving, supervisor: supervisor, builder: builder)
            let program = RunProgram(
                supervisor: supervisor,
                output: output,
                logger: logger,
                outcomes: outcomes,
                reload: reload,
                hangups: hangups,
                listening: listening
            )
            return await program.run()
        } catch {
            return await CommandFailure(error).report()
        }
    }

    private func run() async -> CommandStatus {
        let signals = await WatchedSignals.begin()
        let session = ServiceSession(supervisor: supervisor, output: output, logger: logger)
        let stop = listening?.failures ?? AsyncStream { _ in }
        let end = await session.run(signals, stop: stop) { [reload, hangups, listening] in
            async let notes: Void? = listening?.serve()
            await reload.serve(hangups.requests)
            await notes
        }
        switch end {
        case .finished: logger.info("drained")
        case .failed(let error): DiagnosticOutput.shared.report("\(error)")
        }
        let lost = await output.finish()
        if let lost { DiagnosticOutput.shared.report("\(lost)") }
        let report = supervisor.report
        let lostLetters = outcomes ? 0 : report.deadLetters
        if lostLetters > 0 { DiagnosticOutput.shared.report(RunProgram.loss(of: lostLetters)) }
        let summary = RunSummary(report: report, droppedLines: output.droppedLines, reloads: reload.counts)
        DiagnosticOutput.shared.report(summary.description)
        await DiagnosticOutput.shared.flush()
        // Until here a second signal ends the program, regardless of what it waits for.
        withExtendedLifetime((signals, hangups)) {}
        if case .failed(let error) = end { return CommandFailure(givingUp: error).status }
        guard lost == nil else { return .outputFailed }
        guard report.isClean else { return .drainIncomplete }
        return lostLetters > 0 ? .deadLettersLost : .done
    }

    private static func loss(of letters: Int) -> String {
        "\(letters) dead \(letters == 1 ? "letter was" : "letters were") kept in memory and lost with the process; "
            + "use --outcomes to write each to stdout"
    }
}

/// The last line of a run: the number of arrivals by outcome.
struct RunSummary: CustomStringConvertible {
    let report: SupervisorReport
    /// The number of `--outcomes` lines dropped because stdout was too slow.
    let droppedLines: Int
    /// The number of configuration reloads.
    var reloads = ReloadCounts()

    /// One line without a newline.
    var description: String {
        let total = report.total
        var parts = [
            "handled \(total.handled)", "rejected \(total.rejected)", "failed \(total.failed)",
            "abandoned \(total.abandoned)", "dead letters \(report.deadLetters)",
        ]
        if report.deadLettersDropped > 0 { parts.append("of these dropped \(report.deadLettersDropped)") }
        if total.lateReturns > 0 { parts.append("returned late \(total.lateReturns)") }
        if report.unsettled > 0 { parts.append("unsettled \(report.unsettled)") }
        if !report.callsStillRunning.isEmpty {
            parts.append("not returned: \(report.callsStillRunning.joined(separator: " "))")
        }
        if droppedLines > 0 { parts.append("outcome lines dropped \(droppedLines)") }
        if let reloads = reloads.description { parts.append(reloads) }
        return parts.joined(separator: ", ")
    }
}
