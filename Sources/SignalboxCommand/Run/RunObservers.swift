import AdapterSupport
import Logging
import Signalbox
import SignalboxCore
import WebSocketChat

/// What lets others look at a run, and command it: `observe`, `otlp` and `control`, as far as the configuration has them,
/// and the service manager, if one started the program.
struct RunObservers {
    /// `nil` if nobody can look.
    let observation: Observation?
    /// The watch over the sources, or `nil` if nothing needs one.
    let health: HealthWatch?
    /// `nil` if no service manager started the program.
    let manager = ServiceManager.announced()
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
        if let observation {
            health = observation.health
        } else {
            let watch = manager.map { _ in HealthWatch() }
            if let watch { supervisor.observe(reports: watch) }
            health = watch
        }
        supervisor.onDrain { [manager] in
            manager?.stopping()
            InheritedSockets.shared.release()
        }
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
        let service = ControlService(
            control,
            reports,
            reload,
            sender,
            builder.groups,
            level: level,
            logger: logger
        )
        do {
            socket = try service.start()
        } catch {
            await attachment?.detach()
            throw error
        }
        self.service = service
    }

    /// Keeps the service manager informed until the task is cancelled.
    ///
    /// - Parameter adapters: The sources of the first configuration.
    func serve(_ adapters: [any Adapter], _ supervisor: Supervisor, logger: Logger) async {
        let servers = adapters.compactMap { $0 as? any ListeningAdapter }
        for server in servers { _ = await server.port() }
        guard !Task.isCancelled else { return }
        for address in InheritedSockets.shared.unused {
            logger.warning(
                "a socket that was passed to the program is not used",
                metadata: [
                    "problem": "no listener of the configuration has the address \(address)",
                    "advice": "make the addresses of the configuration and of the socket unit equal",
                ]
            )
        }
        if let manager, let health { await manager.serve(supervisor, health) }
    }

    /// Tells those who wait for the end of the run how it ended, and ends.
    func end(_ summary: RunSummary) async {
        await telemetry?.finish()
        service?.end(summary)
        await socket?.close()
        await attachment?.detach()
    }
}
