import Logging
import Signalbox
import SignalboxCore
import WebSocketChat

/// What lets others look at a run, and command it: `observe`, `otlp` and `control`, as far as the configuration has them.
struct RunObservers {
    /// `nil` if nobody can look.
    let observation: Observation?
    private let configuration: RunConfiguration
    private let telemetry: Telemetry?
    private var attachment: ListenerAttachment?
    private var service: ControlService?
    private var socket: ControlSocket?

    /// Measures everything that the supervisor does from now on, if somebody can look.
    init(of supervisor: Supervisor, _ configuration: RunConfiguration, logger: Logger) {
        self.configuration = configuration
        let showsHistory = configuration.control != nil || configuration.observe?.console != nil
        let isMeasured = configuration.observe != nil || configuration.otlp != nil || showsHistory
        observation = isMeasured ? Observation(of: supervisor, keepsHistory: showsHistory) : nil
        telemetry = Telemetry(configuration.otlp, observation, of: supervisor, logger: logger)
    }

    /// Begins to answer and to export.
    ///
    /// - Parameters:
    ///   - file: The configuration's path.
    ///   - level: The level of the log lines, which a command may change.
    /// - Throws: ``CommandFailure`` if a port or a path cannot be used, or a token cannot be read.
    mutating func start(
        _ supervisor: Supervisor,
        file: String,
        _ builder: SupervisorBuilder,
        _ reload: ConfigurationReload,
        level: LogThreshold
    ) async throws {
        guard let observation else { return }
        let logger = builder.logger
        let reports = StatusReports(supervisor, observation, file: file, level: level) { reload.configuration }
        let sender = ActionSender(
            messages: builder.processes.messages,
            limits: { reload.configuration.limits },
            logger: logger
        )
        let console = configuration.observe?.console.map { _ in
            ConsoleService(reports, sender, reload, file: file, logger: logger)
        }
        attachment = try await builder.observe(by: observation, console)
        defer { telemetry?.start() }
        guard let control = configuration.control else { return }
        let service = ControlService(control, reports, reload, sender, level: level, logger: logger)
        do {
            socket = try service.start()
        } catch {
            await attachment?.detach()
            throw error
        }
        self.service = service
    }

    /// Tells those who wait for the end of the run how it ended, and ends.
    func end(_ summary: RunSummary) async {
        await telemetry?.finish()
        service?.end(summary)
        await socket?.close()
        await attachment?.detach()
    }
}
