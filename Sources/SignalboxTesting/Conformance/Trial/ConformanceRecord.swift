import SignalboxCore

/// All that happened to a subject, and what of it was against the contract. Without threads or waiting.
struct ConformanceRecord: Sendable {
    struct Problem: Sendable {
        let expected: String
        let seen: String
    }

    /// A call of one of the suite's plugins.
    struct Call: Sendable {
        let run: Int
        let action: ActionName
        let id: String
        /// What the body said, for plugins that look at it.
        let body: ConformanceBody?
    }

    /// An outcome as the supervisor told it.
    struct Told: Sendable {
        let run: Int
        /// `nil` when the message could not be read.
        let id: String?
        let word: String
        /// The bytes of an unreadable message, as text.
        let original: String?
    }

    /// Of problems with the same expectation, those beyond this are counted only.
    private static let alike = 3

    private var listed: [Problem] = []
    private var unlisted: [String: Int] = [:]
    private(set) var calls: [Call] = []
    private(set) var told: [Told] = []
    private(set) var settled: Set<String> = []
    private(set) var begun: Set<String> = []
    /// The far side could not send, and nothing is to be waited for.
    private(set) var hasSendingFailed = false
    /// What the case is doing, for when it does not end: several things where it sends and waits at once.
    private var steps: [String] = []
    /// The runs of the adapter so far, watched.
    var runs: [ConformanceRun] = []

    var step: String { steps.isEmpty ? "being between two steps" : steps.joined(separator: " and ") }

    mutating func begin(_ step: String) {
        steps.append(step)
    }

    mutating func end(_ step: String) {
        if let index = steps.firstIndex(of: step) { steps.remove(at: index) }
    }

    mutating func found(_ expected: String, _ seen: String) {
        if listed.count(where: { $0.expected == expected }) < ConformanceRecord.alike {
            listed.append(Problem(expected: expected, seen: seen))
        } else {
            unlisted[expected, default: 0] += 1
        }
    }

    /// What was found, in order.
    var problems: [Problem] {
        let more = unlisted.sorted { $0.key < $1.key }
        return listed + more.map { Problem(expected: $0.key, seen: "the like \($0.value) times more") }
    }

    mutating func called(_ call: Call) {
        calls.append(call)
        begun.insert(call.id)
    }

    mutating func tell(_ told: Told) {
        self.told.append(told)
        if let id = told.id { settled.insert(id) }
    }

    /// While a run stops, its far side may be refused.
    mutating func sendingFailed(_ error: any Error) {
        guard let run = runs.last, !run.isStopAsked else { return }
        hasSendingFailed = true
        found("the far side can send", "\(error)")
    }

    /// Changes a run and takes over what it found.
    mutating func inRun(_ number: Int, _ change: (inout ConformanceRun) -> Void) {
        change(&runs[number])
        for problem in runs[number].takeProblems() { found(problem.expected, problem.seen) }
    }

    /// Where things stand, in a line.
    var summary: String {
        let run = runs.last.map { "; in run \(runs.count): \($0.summary)" } ?? ""
        return "\(step); \(begun.count) messages reached a plugin, \(told.count) outcomes were told\(run)"
    }
}

extension Watched<ConformanceRecord> {
    /// Does the work as a step of the case. One that throws is still named afterwards.
    func during<Result>(_ step: String, _ work: () async throws -> Result) async rethrows -> Result {
        change { $0.begin(step) }
        let result = try await work()
        change { $0.end(step) }
        return result
    }
}
