import Logging
import Signalbox
import SignalboxCore

/// A configuration brought to life: the supervisor with its sources and plugins.
struct RunProgram {
    let supervisor: Supervisor
    let output: StandardOutput
    let logger: Logger
    let reload: ConfigurationReload
    let hangups: HangupWatch

    /// Reads the file, runs until told to stop, and says how it went. Its diagnostics are out when it returns.
    static func status(file: String, outcomes: Bool, logger: Logger) async -> CommandStatus {
        // From the first moment, as the signal would end a program that does not know it.
        let hangups = HangupWatch()
        do {
            let configuration = try ConfigurationFile.read(file, for: .run)
            let output = StandardOutput()
            let builder = SupervisorBuilder(configuration: configuration, printing: .output(output), logger: logger)
            var told: (@Sendable (SettledArrival) -> Void)?
            if outcomes { told = { output.offer(OutcomeLine($0).runLine) } }
            let supervisor = try builder.supervisor(onOutcome: told)
            try builder.addSources(to: supervisor)
            let reload = ConfigurationReload(file: file, supervisor: supervisor, builder: builder)
            let program = RunProgram(
                supervisor: supervisor,
                output: output,
                logger: logger,
                reload: reload,
                hangups: hangups
            )
            return await program.run()
        } catch {
            return await CommandRefusal(error).told()
        }
    }

    private func run() async -> CommandStatus {
        let signals = SignalWatch()
        let session = SupervisorSession(supervisor: supervisor, output: output, logger: logger)
        let end = await session.run(signals) { [reload, hangups] in await reload.serve(hangups.requests) }
        switch end {
        case .finished: logger.info("drained")
        case .failed(let what): DiagnosticOutput.shared.tell(what)
        }
        let lost = await output.finish()
        if let lost { DiagnosticOutput.shared.tell("\(lost)") }
        let report = supervisor.report
        let summary = RunSummary(report: report, droppedLines: output.droppedLines, reloads: reload.counts)
        DiagnosticOutput.shared.tell(summary.description)
        await DiagnosticOutput.shared.flush()
        // Until here a second signal ends the program, whatever it waits for.
        withExtendedLifetime((signals, hangups)) {}
        if case .failed = end { return .unavailable }
        guard lost == nil else { return .outputFailed }
        return report.isClean ? .done : .drainIncomplete
    }
}
