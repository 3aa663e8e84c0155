import SignalboxCore

/// Records what happens to one subject, and the contract violations found along the way. The record uses no threads and
/// never waits.
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
        /// The decoded body. Only set for plugins that decode it.
        let body: ConformanceBody?
    }

    /// An outcome that the supervisor reported.
    struct ReportedOutcome: Sendable {
        let run: Int
        /// The message's id, or `nil` if the message could not be read.
        let id: String?
        let code: String
        /// The bytes of an unreadable message, as text.
        let original: String?
    }

    /// How many problems are listed per expectation. Any further problems are only counted.
    private static let maximumListed = 3

    private var listed: [Problem] = []
    private var unlisted: [String: Int] = [:]
    private(set) var calls: [Call] = []
    private(set) var outcomes: [ReportedOutcome] = []
    private(set) var settled: Set<String> = []
    private(set) var begun: Set<String> = []
    /// Whether the remote end failed to send a message. Such a failure ends all waits.
    private(set) var hasSendingFailed = false
    /// The steps that the case is currently taking, which are reported if the case does not end. There are several
    /// steps if the case sends and waits concurrently.
    private var steps: [String] = []
    /// All runs of the adapter so far.
    var runs: [ConformanceRun] = []

    var step: String { steps.isEmpty ? "between two steps" : steps.joined(separator: " and ") }

    mutating func begin(_ step: String) {
        steps.append(step)
    }

    mutating func end(_ step: String) {
        if let index = steps.firstIndex(of: step) { steps.remove(at: index) }
    }

    mutating func addProblem(_ expected: String, _ seen: String) {
        if listed.count(where: { $0.expected == expected }) < ConformanceRecord.maximumListed {
            listed.append(Problem(expected: expected, seen: seen))
        } else {
            unlisted[expected, default: 0] += 1
        }
    }

    /// The problems, in the order in which they were found.
    var problems: [Problem] {
        let more = unlisted.sorted { $0.key < $1.key }
        return listed + more.map { Problem(expected: $0.key, seen: "\($0.value) more of these") }
    }

    mutating func called(_ call: Call) {
        calls.append(call)
        begun.insert(call.id)
    }

    mutating func record(_ outcome: ReportedOutcome) {
        outcomes.append(outcome)
        if let id = outcome.id { settled.insert(id) }
    }

    /// Records an error that occurred while sending. The error is ignored if the run is stopping, because a source may
    /// refuse messages at that point.
    mutating func sendingFailed(_ error: any Error) {
        guard let run = runs.last, !run.isStopRequested else { return }
        hasSendingFailed = true
        addProblem("the remote end can send", "\(error)")
    }

    /// Changes a run, and adds any problems that the run found in the change.
    mutating func inRun(_ number: Int, _ change: (inout ConformanceRun) -> Void) {
        change(&runs[number])
        for problem in runs[number].takeProblems() { addProblem(problem.expected, problem.seen) }
    }

    /// Describes the state of the case in one line.
    var summary: String {
        let run = runs.last.map { "; in run \(runs.count): \($0.summary)" } ?? ""
        return "\(step); \(begun.count) messages reached a plugin, \(outcomes.count) outcomes were reported\(run)"
    }
}

extension Watched<ConformanceRecord> {
    /// Performs `work` as a step of the case. If `work` throws, the step stays recorded.
    func during<Result>(_ step: String, _ work: () async throws -> Result) async rethrows -> Result {
        change { $0.begin(step) }
        let result = try await work()
        change { $0.end(step) }
        return result
    }
}

/// Checks one run of a watched adapter against the contract while the run is in progress. This type uses no threads and
/// never waits.
struct ConformanceRun: Sendable {
    /// An arrival between its first submit and its settlement.
    private struct Entry {
        var isTaken = false
        var isAcknowledged = false
    }

    /// Identifies an arrival by its sink and its token. Tokens are unique per sink.
    struct Key: Hashable, Sendable {
        let sink: ObjectIdentifier
        let token: UInt64
    }

    var hasBegun = false
    var isStopRequested = false
    private(set) var hasReturned = false
    /// Whether the run's supervisor has ended.
    private(set) var hasEnded = false
    /// The ids of the arrivals taken, in order. Unreadable arrivals have the id `nil`.
    private(set) var taken: [String?] = []
    /// How many arrivals have been acknowledged, and how many have been abandoned.
    private(set) var acknowledged = 0
    private(set) var abandoned = 0
    /// How many submits were cut short.
    private(set) var refusals = 0
    /// How many calls of `room()` have not returned.
    private(set) var roomCalls = 0
    /// The largest number of arrivals that were unsettled or offered at the same time.
    private(set) var peak = 0

    private let source: SourceName
    private let features: AdapterFeatures
    private let batchBound: Int
    private var entries: [Key: Entry] = [:]
    private var mustWaitForRoom = false
    private var problems: [ConformanceRecord.Problem] = []

    init(_ adapter: any Adapter, batchBound: Int) {
        source = adapter.source
        features = adapter.features
        self.batchBound = batchBound
    }

    /// How many arrivals have been taken but not settled.
    var unsettled: Int { entries.values.count { $0.isTaken } }
    /// Whether the adapter has received an outcome for every arrival that it offered.
    var hasAllOutcomes: Bool { entries.isEmpty }

    /// Returns whether the adapter has filled a window of `window` arrivals. The window counts as filled if a submit
    /// was cut short, or if the adapter calls `room()` before each submit and less than a quarter of the window is
    /// free.
    func hasFilled(_ window: Int) -> Bool {
        unsettled == window && refusals > 0 || roomCalls > 0 && unsettled > window - max(1, window / 4)
    }

    var summary: String {
        let state = hasReturned ? "returned" : isStopRequested ? "stop requested" : hasBegun ? "running" : "not started"
        let waiting = roomCalls > 0 ? ", waiting in room()" : ""
        return "\(state), \(taken.count) arrivals taken, \(unsettled) of them unsettled, "
            + "\(refusals) submits cut short\(waiting)"
    }

    mutating func takeProblems() -> [ConformanceRecord.Problem] {
        defer { problems = [] }
        return problems
    }

    private mutating func addProblem(_ expected: String, _ seen: String) {
        problems.append(ConformanceRecord.Problem(expected: expected, seen: seen))
    }
}

// MARK: - Adapter events

extension ConformanceRun {
    mutating func offer(_ keys: [Key], from origins: Set<SourceName>, withSenders senders: Int) {
        if let other = origins.first(where: { $0 != source }) {
            addProblem("the origin of an arrival names the adapter's source", "\(other) instead of \(source)")
        }
        let expectedSenders = features.contains(.pushes) ? keys.count : 0
        if senders != expectedSenders {
            addProblem(
                "\(expectedSenders) of \(keys.count) arrivals have a sender, according to the adapter's features",
                "\(senders)"
            )
        }
        if hasReturned { addProblem("no submit after the run returned", "a submit of \(keys.count) arrivals") }
        if mustWaitForRoom {
            addProblem(
                "no submit between a partial submit and the return of room()",
                "a submit of \(keys.count) arrivals"
            )
        }
        if keys.count > batchBound { addProblem("at most \(batchBound) arrivals in a submit", "\(keys.count)") }
        for key in keys {
            if entries.updateValue(Entry(), forKey: key) != nil {
                addProblem("tokens of unsettled arrivals are unique", "token \(key.token) used twice")
            }
        }
        peak = max(peak, entries.count)
    }

    mutating func take(_ count: Int, of keys: [Key], ids: [String?]) {
        for key in keys.prefix(count) { entries[key]?.isTaken = true }
        for key in keys.dropFirst(count) where entries.removeValue(forKey: key) == nil {
            addProblem("an arrival that was not taken is not settled", "token \(key.token) was settled")
        }
        taken += ids.prefix(count)
        guard count < keys.count else { return }
        refusals += 1
        mustWaitForRoom = true
    }

    mutating func roomRequested() {
        roomCalls += 1
    }

    mutating func roomReturned(isOpen: Bool) {
        roomCalls -= 1
        if isOpen { mustWaitForRoom = false }
    }

    mutating func returned() {
        hasReturned = true
        let unacknowledged = entries.values.count { $0.isTaken && !$0.isAcknowledged }
        if unacknowledged > 0 {
            addProblem(
                "the run returns only after every arrival taken is settled",
                "\(unacknowledged) were neither settled nor acknowledged"
            )
        }
    }
}

// MARK: - Supervisor events

extension ConformanceRun {
    mutating func acknowledge(_ key: Key) {
        guard let entry = entries[key] else {
            return addProblem("mayAcknowledge is called only for unsettled arrivals", "token \(key.token)")
        }
        if entry.isAcknowledged { addProblem("mayAcknowledge is called once per arrival", "token \(key.token) again") }
        entries[key]?.isAcknowledged = true
        acknowledged += 1
    }

    mutating func settle(_ key: Key, _ outcome: Outcome) {
        guard let entry = entries.removeValue(forKey: key) else {
            return addProblem("an arrival taken is settled once", "token \(key.token) again: \(outcome.code)")
        }
        if case .abandoned = outcome {
            abandoned += 1
            if entry.isAcknowledged {
                addProblem("an abandoned arrival is not acknowledged", "token \(key.token): \(outcome.code)")
            }
        } else if !entry.isAcknowledged {
            addProblem("mayAcknowledge is called before settle", "token \(key.token): \(outcome.code)")
        }
    }

    mutating func supervisorEnded() {
        hasEnded = true
        if unsettled > 0 {
            addProblem("every arrival taken is settled", "\(unsettled) were unsettled when the supervisor ended")
        }
    }

    /// Checks that the run has returned. The suite calls this method once everything around the run has ended.
    mutating func end() {
        if hasBegun && !hasReturned {
            addProblem("a cancelled run returns", "it had not returned after everything else ended")
        }
    }
}
