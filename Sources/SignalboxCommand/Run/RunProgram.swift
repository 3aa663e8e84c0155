import Logging
import Signalbox
import SignalboxCore

/// A configuration brought to life: the supervisor with its sources and plugins.
struct RunProgram {
    let supervisor: Supervisor
    let output: StandardOutput
    let logger: Logger

    /// Reads the file, runs until told to stop, and says how it went. Its diagnostics are out when it returns.
    static func status(file: String, outcomes: Bool, logger: Logger) async -> CommandStatus {
        let text: String
        switch FileContent.read(file, limit: FileContent.configurationLimit) {
        case .failure(let error): return await refused(.unreadableConfiguration, "\(file): cannot be read: \(error)")
        case .success(let bytes):
            guard let valid = String(validating: bytes, as: UTF8.self) else {
                return await refused(.invalidConfiguration, "\(file): is not UTF-8")
            }
            text = valid
        }
        do throws(ConfigurationError) {
            let configuration = try ConfigurationReader.read(text, file: file)
            return await status(of: configuration, outcomes: outcomes, logger: logger)
        } catch {
            return await refused(.invalidConfiguration, error.description)
        }
    }

    private static func status(of configuration: RunConfiguration, outcomes: Bool, logger: Logger) async
        -> CommandStatus
    {
        let output = StandardOutput()
        let builder = SupervisorBuilder(configuration: configuration, output: output, logger: logger)
        let supervisor: Supervisor
        do {
            supervisor = try builder.supervisor(outcomes: outcomes)
        } catch {
            return await refused(.unavailable, "\(error)")
        }
        let program = RunProgram(supervisor: supervisor, output: output, logger: logger)
        return await program.run()
    }

    private func run() async -> CommandStatus {
        let signals = SignalWatch()
        let session = SupervisorSession(supervisor: supervisor, output: output, logger: logger)
        let end = await session.run(signals)
        switch end {
        case .finished: logger.info("drained")
        case .failed(let what): RunProgram.tell(what)
        }
        let lost = await output.finish()
        if let lost { RunProgram.tell("\(lost)") }
        let report = supervisor.report
        RunProgram.tell(RunSummary(report: report, droppedLines: output.droppedLines).description)
        await DiagnosticOutput.shared.flush()
        // Until here a second signal ends the program, whatever it waits for.
        withExtendedLifetime(signals) {}
        if case .failed = end { return .unavailable }
        guard lost == nil else { return .outputFailed }
        return report.isClean ? .done : .drainIncomplete
    }

    private static func refused(_ status: CommandStatus, _ lines: String) async -> CommandStatus {
        for line in lines.split(separator: "\n") { tell(String(line)) }
        await DiagnosticOutput.shared.flush()
        return status
    }

    private static func tell(_ line: String) {
        DiagnosticOutput.shared.offer("signalbox: \(LineEscape.escaped(line))\n")
    }
}
