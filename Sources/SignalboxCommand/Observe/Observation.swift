import CoreMetrics
import PrometheusMetrics
import Signalbox
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// What a running program says about itself. Safe to use from any thread.
final class Observation: Sendable {
    private let registry = PrometheusRegistry(
        help: SupervisorMetrics.help.merging(Telemetry.help) { first, _ in first }
    )
    private let metrics: SupervisorMetrics
    let health = HealthWatch()
    let history: ActivityHistory
    private let supervisor: Supervisor

    /// Measures everything that the supervisor does from now on.
    ///
    /// - Parameter keepsHistory: Whether ``history`` goes back some time. Otherwise, it has only what is known now.
    init(of supervisor: Supervisor, keepsHistory: Bool = false) {
        self.supervisor = supervisor
        _ = ProcessMetrics.start
        metrics = SupervisorMetrics(factory: registry)
        history = ActivityHistory(of: registry)
        supervisor.observe(metrics)
        supervisor.observe(reports: health)
        if keepsHistory { supervisor.observe(reports: history) }
    }

    /// Whether sources are about to start, or have ended.
    var isChanging: Bool { health.isStarting || supervisor.isEnding }

    /// The counter of spans that were not exported.
    var droppedSpans: any CounterHandler { registry.makeCounter(label: Telemetry.droppedName, dimensions: []) }

    /// The current values of all metrics.
    var samples: [MetricSample] {
        metrics.reported(supervisor.report)
        return registry.samples + ProcessMetrics.now.samples + health.samples
    }

    /// Returns the answer to a question.
    ///
    /// - Parameter showsAll: Whether the answer may say more than whether the program is alive and ready.
    func answer(_ endpoint: ObservationEndpoint, showsAll: Bool) -> HTTPAnswer {
        switch endpoint {
        case .metrics:
            metrics.reported(supervisor.report)
            var text = registry.text()
            ProcessMetrics.now.write(to: &text)
            writeConnections(to: &text)
            return HTTPAnswer(status: 200, contentType: PrometheusRegistry.contentType, body: Array(text.utf8))
        case .healthz:
            guard let failure = health.failure(of: supervisor) else { return HTTPAnswer(200, "alive") }
            return HTTPAnswer(503, showsAll ? failure : "not alive")
        case .readyz:
            let problems = health.problems(of: supervisor)
            return HTTPAnswer(
                status: problems.isEmpty ? 200 : 503,
                contentType: "application/json",
                body: HealthProblem.json(problems, showsProblems: showsAll)
            )
        }
    }

    private func writeConnections(to text: inout String) {
        let connections = health.connections
        guard !connections.isEmpty else { return }
        text += "# HELP signalbox_source_connected whether the source can receive messages: 1, or 0 while it cannot\n"
        text += "# TYPE signalbox_source_connected gauge\n"
        for (source, problem) in connections {
            // The names of sources have no character that a label's value would have to escape.
            text += "signalbox_source_connected{source=\"\(source.text)\"} \(problem == nil ? 1 : 0)\n"
        }
    }
}

/// The questions that the program answers, by their paths.
enum ObservationEndpoint: String, CaseIterable {
    case metrics = "/metrics"
    case healthz = "/healthz"
    case readyz = "/readyz"

    /// How long an answer may take. Plugins that compute may keep the threads busy for a while in a program that is alive.
    var answerLimit: Duration { self == .healthz ? .seconds(15) : .seconds(5) }

    /// The route of the path, for listeners that sources share.
    var route: (pattern: URLPattern, url: URLText)? {
        guard let pattern = try? URLPattern(rawValue), let url = try? URLText("http://localhost\(rawValue)") else {
            return nil
        }
        return (pattern, url)
    }
}
