import Logging
import Signalbox
import SignalboxCore

/// A configuration brought to life: the supervisor with its sources and plugins.
struct RunProgram {
    let supervisor: Supervisor
    let output: StandardOutput
    let logger: Logger

    /// Reads the file, runs until told to stop, and says how it went.
    static func status(file: String, outcomes: Bool, logger: Logger) async -> CommandStatus {
        let text: String
        switch FileContent.read(file, limit: FileContent.configurationLimit) {
        case .failure(let error):
            tell("\(file): cannot be read: \(error)")
            return .unreadableConfiguration
        case .success(let bytes):
            guard let valid = String(validating: bytes, as: UTF8.self) else {
                tell("\(file): is not UTF-8")
                return .invalidConfiguration
            }
            text = valid
        }
        do throws(ConfigurationError) {
            let configuration = try ConfigurationReader.read(text, file: file)
            return await status(of: configuration, outcomes: outcomes, logger: logger)
        } catch {
            for line in error.description.split(separator: "\n") { tell(String(line)) }
            return .invalidConfiguration
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
            tell("\(error)")
            return .unavailable
        }
        let program = RunProgram(supervisor: supervisor, output: output, logger: logger)
        return await program.run()
    }

    private func run() async -> CommandStatus {
        let session = SupervisorSession(supervisor: supervisor, output: output, logger: logger)
        let end = await session.run()
        await output.flush()
        RunProgram.tell(RunSummary(report: supervisor.report, droppedLines: output.droppedLines).description)
        switch end {
        case .failed(let what):
            RunProgram.tell(what)
            return .unavailable
        case .outputEnded(let failure):
            RunProgram.tell("\(failure)")
            return .outputFailed
        case .finished: return supervisor.report.isClean ? .done : .drainIncomplete
        }
    }

    private static func tell(_ line: String) {
        DiagnosticOutput.shared.offer("signalbox: \(LineEscape.escaped(line))\n")
    }
}
