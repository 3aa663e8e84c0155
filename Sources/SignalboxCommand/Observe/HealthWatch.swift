import Signalbox
import SignalboxCore
import Synchronization

/// Knows whether the program is alive, and why it may not be ready. Safe to use from any thread.
final class HealthWatch: ReportObserver {
    /// The longest time between two ticks of the supervisor's timer, which ticks once a second, while the program is alive.
    static let tickLimit = Duration.seconds(5)

    /// The share of the store's room for dead letters from which on the program is not ready. Deleting the oldest letters, which
    /// happens at 1, may free a share.
    static let fullness = 0.95

    private struct State {
        var sources: [SourceName: any ConnectingAdapter] = [:]
        /// When the supervisor's timer last ticked, or `nil` before the first time.
        var lastTick: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameter now: Returns the time. Tests pass their own.
    init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) { self.now = now }

    func reported(_ report: SupervisorReport) { state.withLock { $0.lastTick = now() } }

    /// Watches a source that is starting, if it has a connection. This replaces an earlier adapter of the source.
    func add(_ adapter: any Adapter) {
        guard let adapter = adapter as? any ConnectingAdapter else { return }
        state.withLock { $0.sources[adapter.source] = adapter }
    }

    func remove(_ source: SourceName) { state.withLock { $0.sources[source] = nil } }

    /// What is wrong with each source that has a connection, or `nil` if it is open.
    var connections: [(source: SourceName, problem: String?)] {
        let sources = state.withLock { $0.sources }
        return sources.map { ($0.key, $0.value.connectionProblem) }.sorted { $0.0.text < $1.0.text }
    }

    /// Why the program is not alive, or `nil` if it is. A program that is starting or ending is alive.
    func failure(of supervisor: Supervisor) -> String? {
        guard !supervisor.isEnding, let last = state.withLock({ $0.lastTick }) else { return nil }
        let silence = now() - last
        return silence > HealthWatch.tickLimit
            ? "the supervisor's timer has not ticked for \(silence.components.seconds) s; restart the program" : nil
    }

    /// Whether the supervisor has not run for a second yet.
    var isStarting: Bool { state.withLock { $0.lastTick == nil } }

    /// Why the program is not ready for messages. Empty if it is.
    func problems(of supervisor: Supervisor) -> [HealthProblem] {
        var problems: [HealthProblem] = []
        if let failure = failure(of: supervisor) { problems.append(HealthProblem(failure)) }
        if isStarting { problems.append(HealthProblem("the program is starting")) }
        if supervisor.isEnding { problems.append(HealthProblem("the program is ending")) }
        for (source, problem) in connections {
            if let problem { problems.append(HealthProblem(problem, source: source)) }
        }
        let report = supervisor.report
        for call in report.callsStillRunning {
            let parts = call.split(separator: "/", maxSplits: 1).map(String.init)
            let text = "a call has timed out and not returned; its plugin may get no more actions until it does"
            let source = parts.first.flatMap { try? SourceName($0) }
            problems.append(HealthProblem(text, source: source, plugin: parts.last))
        }
        if let problem = report.storeProblem {
            problems.append(HealthProblem("the store cannot be written: \(problem)"))
        }
        if let use = report.storedDeadLetters, use.fullness >= HealthWatch.fullness {
            let share = Int(use.fullness * 100)
            let text = "the store's room for dead letters is \(share) % full; at 100 % the oldest are deleted"
            problems.append(HealthProblem("\(text); see 'signalbox dead list'"))
        }
        return problems
    }
}

/// A reason why the program is not ready.
struct HealthProblem: Sendable, Hashable {
    let source: SourceName?
    let plugin: String?
    let text: String

    init(_ text: String, source: SourceName? = nil, plugin: String? = nil) {
        (self.source, self.plugin, self.text) = (source, plugin, text)
    }

    /// Returns the answer of `/readyz`.
    ///
    /// - Parameter showsProblems: Whether the reasons are shown.
    static func json(_ problems: [HealthProblem], showsProblems: Bool) -> [UInt8] {
        var object = JSONObject()
        object.add("ready", problems.isEmpty)
        if showsProblems, !problems.isEmpty {
            object.add("problems", objects: problems) { problem, entry in
                entry.add("source", problem.source?.text)
                entry.add("plugin", problem.plugin)
                entry.add("problem", problem.text)
            }
        }
        return object.line
    }
}
