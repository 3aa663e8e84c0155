import AdapterSupport
import Logging
import Signalbox
import SignalboxCore

/// Says how the running program does. Safe to use from any thread.
final class StatusReports: Sendable {
    /// How many dead letters a report has.
    private static let letters = 10

    let supervisor: Supervisor
    private let observation: Observation
    private let file: String
    private let level: LogThreshold
    /// Returns the configuration in use, which a reload changes.
    private let configuration: @Sendable () -> RunConfiguration
    private let start = WallTime.now()

    /// - Parameters:
    ///   - file: The path of the configuration.
    ///   - level: The level of the log lines.
    init(
        _ supervisor: Supervisor,
        _ observation: Observation,
        file: String,
        level: LogThreshold,
        configuration: @escaping @Sendable () -> RunConfiguration
    ) {
        (self.supervisor, self.observation) = (supervisor, observation)
        (self.file, self.level, self.configuration) = (file, level, configuration)
    }

    /// - Parameter history: Whether the status has what happened in each of the last seconds.
    func status(history: Bool) -> ProgramStatus { statusAndView(history: history).status }

    /// Returns the status together with the counts that it is made from.
    func statusAndView(history: Bool) -> (status: ProgramStatus, view: ActivityView) {
        let (report, configuration) = (supervisor.report, configuration())
        let view = observation.history.view(report)
        return (status(report, configuration, view, history), view)
    }

    private func status(
        _ report: SupervisorReport,
        _ configuration: RunConfiguration,
        _ view: ActivityView,
        _ history: Bool
    ) -> ProgramStatus {
        let problems = observation.health.problems(of: supervisor)
        let plugins = plugins(configuration, view, history)
        let warnings = StatusWarnings(
            sources: configuration.runningSources,
            report: report,
            plugins: plugins,
            view: view
        )
        return ProgramStatus(
            program: program(level.level),
            isReady: problems.isEmpty,
            problems: problems.map { .init(source: $0.source?.text, plugin: $0.plugin, problem: $0.text) },
            warnings: warnings.list,
            sources: sources(configuration, report, view, history),
            plugins: plugins,
            deadLetters: deadLetters(report)
        )
    }

    private func program(_ level: Logger.Level) -> ProgramStatus.Program {
        let process = ProcessMetrics.now
        let state = supervisor.isEnding ? "draining" : observation.health.isStarting ? "starting" : "running"
        return ProgramStatus.Program(
            version: BuildInformation.version,
            pid: Int(getpid()),
            configuration: file,
            state: state,
            startedAt: WallTimeText.utc(start),
            uptimeSeconds: Int(WallTime.now().seconds - start.seconds),
            logLevel: level.rawValue,
            processorSeconds: process.processorSeconds,
            residentBytes: process.residentBytes,
            openDescriptors: process.openDescriptors
        )
    }

    private func sources(
        _ configuration: RunConfiguration,
        _ report: SupervisorReport,
        _ view: ActivityView,
        _ history: Bool
    ) -> [ProgramStatus.Source] {
        let connections = Dictionary(observation.health.connections.map { ($0.source, $0.problem == nil) }) { $1 }
        let configured = configuration.runningSources
        let others = report.sources.keys.filter { name in
            let isUsed = view.current[.source(name.text)]?.settled != 0 || report.windows[name]?.arrivals ?? 0 > 0
            return isUsed && !configured.contains { $0.name == name }
        }
        let names = configured.map(\.name) + others.sorted { $0.text < $1.text }
        return names.map { name in
            let section = configured.first { $0.name == name }
            let isInternal = name == SourceSection.internalName
            let owner = ActivityHistory.Owner.source(name.text)
            return ProgramStatus.Source(
                source: name.text,
                kind: section?.kind.keyword ?? (isInternal ? name.text : "removed"),
                isConnected: connections[name],
                outcomes: .init(view.current[owner]),
                duplicates: report.sources[name]?.duplicates ?? 0,
                rate: view.rate(of: owner),
                unsettled: report.windows[name]?.arrivals ?? 0,
                unsettledLimit: section?.window.arrivals,
                unsettledBytes: report.windows[name]?.bytes ?? 0,
                history: history ? view.perSecond(of: owner) : nil
            )
        }
    }

    private func plugins(
        _ configuration: RunConfiguration,
        _ view: ActivityView,
        _ history: Bool
    ) -> [ProgramStatus.Plugin] {
        let loads = Dictionary(supervisor.pluginLoads.map { ($0.plugin.text, $0) }) { $1 }
        let running = configuration.runningPlugins
        let configured = running.map(\.action.text)
        let others = view.current.keys.compactMap { owner -> String? in
            guard case .plugin(let name) = owner, !configured.contains(name) else { return nil }
            return name
        }
        return (configured + others.sorted()).map { name in
            let owner = ActivityHistory.Owner.plugin(name)
            let (load, durations) = (loads[name], view.durations(of: owner))
            return ProgramStatus.Plugin(
                plugin: name,
                use: running.first { $0.action.text == name }?.use.keyword,
                outcomes: .init(view.current[owner]),
                rate: view.rate(of: owner),
                p50Seconds: durations.quantile(0.5),
                p99Seconds: durations.quantile(0.99),
                running: load?.running ?? 0,
                waiting: load?.waiting ?? 0,
                stalled: load?.stalled ?? 0,
                isCircuitOpen: load?.isCircuitOpen ?? false,
                history: history ? view.perSecond(of: owner) : nil
            )
        }
    }

    private func deadLetters(_ report: SupervisorReport) -> ProgramStatus.DeadLetters {
        ProgramStatus.DeadLetters(
            total: report.deadLetters,
            dropped: report.deadLettersDropped,
            stored: report.storedDeadLetters?.count,
            fullness: report.storedDeadLetters?.fullness,
            last: supervisor.deadLetters.last(StatusReports.letters).reversed().map { letter in
                ProgramStatus.Letter(
                    receivedAt: WallTimeText.utc(letter.receivedAt),
                    source: letter.source.text,
                    action: letter.action?.text,
                    id: letter.id?.text,
                    outcome: letter.outcome.name,
                    reason: letter.outcome.code,
                    detail: Redaction.redacted(letter.outcome.detail)
                )
            }
        )
    }
}

extension ProgramStatus.Outcomes {
    fileprivate init(_ activity: Activity?) {
        self.init(
            handled: activity?.handled ?? 0,
            rejected: activity?.rejected ?? 0,
            failed: activity?.failed ?? 0,
            abandoned: activity?.abandoned ?? 0
        )
    }
}

extension Outcome {
    /// What went wrong, or nothing.
    var detail: String {
        switch self {
        case .handled: ""
        case .rejected(let rejection): rejection.detail
        case .failed(let failure): failure.detail
        case .abandoned(let abandonment): abandonment.detail
        }
    }
}
