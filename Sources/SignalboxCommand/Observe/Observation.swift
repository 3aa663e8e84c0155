import PrometheusMetrics
import Signalbox
import SignalboxCore
import SignalboxRoutes
import Synchronization
import WebSocketChat

/// What a running program says about itself. Safe to use from any thread.
final class Observation: Sendable {
    private let registry = PrometheusRegistry(help: SupervisorMetrics.help)
    private let metrics: SupervisorMetrics
    let health = HealthWatch()
    private let supervisor: Supervisor
    private let waiting = Atomic<Int>(0)

    /// The maximum number of questions that wait for an answer.
    static let questionLimit = 16

    /// Measures everything that the supervisor does from now on.
    init(of supervisor: Supervisor) {
        self.supervisor = supervisor
        metrics = SupervisorMetrics(factory: registry)
        supervisor.observe(metrics)
        supervisor.observe(reports: health)
    }

    /// Whether sources are about to start, or have ended.
    var isChanging: Bool { health.isStarting || supervisor.isEnding }

    /// Answers a question on the threads that run plugins.
    ///
    /// - Parameter showsAll: Whether the answer may say more than whether the program is alive and ready.
    /// - Returns: `false` if too many questions are waiting. `answer` is then not called.
    func ask(
        _ endpoint: ObservationEndpoint,
        showsAll: Bool,
        _ answer: @escaping @Sendable (HTTPAnswer) -> Void
    ) -> Bool {
        // Other questions must not keep the program from saying that it is alive.
        let limit = Observation.questionLimit * (endpoint == .healthz ? 2 : 1)
        guard waiting.wrappingAdd(1, ordering: .relaxed).newValue <= limit else {
            waiting.wrappingSubtract(1, ordering: .relaxed)
            return false
        }
        Task {
            answer(self.answer(endpoint, showsAll: showsAll))
            waiting.wrappingSubtract(1, ordering: .relaxed)
        }
        return true
    }

    private func answer(_ endpoint: ObservationEndpoint, showsAll: Bool) -> HTTPAnswer {
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
