import SignalboxCore

@testable import Signalbox

/// The events of several runs with one store, grouped for the invariants. Positions are indexes of the log.
struct JournalHistory: Sendable {
    let scenario: JournalScenario
    let registrations: [PluginScenario]
    let events: [SimulationEvent]
    var runs: [Run] = []
    /// The rows by their number, and their order.
    var rows: [Int: Row] = [:]
    var letters: [Int64: Letter] = [:]
    var calls: [Call] = []
    var outcomes: [Settled] = []
    var answered: [(at: Int, message: Int)] = []
    /// The arrivals that were taken by an intake.
    var taken: [ArrivalMark: Taken] = [:]
    var remembered: [Remembered] = []
    /// What was left at the end, as messages.
    var left: (at: Int, rows: [Int], letters: [Int])?
    /// The tick at each position, counted from the first run.
    var ticks: [Int] = []
    /// When each message last reached middleware in the current run.
    private var entered: [JournalDispatch: Int] = [:]
    private var offers: [Int: [SimulationEvent.Offered]] = [:]

    struct Run: Sendable {
        let from: Int
        let wasInterrupted: Bool
        /// When `run()` returned, and when the store was closed.
        var ended: Int?
        var until: Int?
        /// The position at which the process died.
        var crashed: Int?
        /// The message during whose call the process died.
        var poison: Int?
        var isFreed: Bool?
        /// Whether the store was closed without its last changes, for which some tasks wait forever.
        var isLost = false
    }

    struct Row: Sendable {
        let message: Int
        let mark: ArrivalMark
        let appended: Int
        var finished: Int?
        /// Whether a letter was stored together with the end of the row.
        var letter: String?
        var beganAlone: [Int] = []
        var survivedAlone: [Int] = []
    }

    struct Letter: Sendable {
        let message: Int
        let added: Int
        var removed: Int?
    }

    struct Call: Sendable {
        let at: Int
        /// When the attempt began, which is earlier than the call if middleware waited. A call may come after its attempt has
        /// timed out.
        var from: Int
        let number: Int
        let registration: Int
        let attempt: Int
        var dispatches: [JournalDispatch] = []
        var returned: Int?
    }

    struct Settled: Sendable {
        let at: Int
        let dispatch: JournalDispatch
        let outcome: Outcome
        let isDuplicate: Bool

        var isHandled: Bool { if case .handled = outcome { true } else { false } }
        var isAbandoned: Bool { if case .abandoned = outcome { true } else { false } }
    }

    struct Taken: Sendable {
        let at: Int
        let message: Int
        var acknowledged: [Int] = []
        var settled: [Int] = []
    }

    struct Remembered: Sendable {
        let at: Int
        let source: Int
        let id: String
        let until: Int
    }
}

extension JournalHistory {
    init(_ scenario: JournalScenario, registrations: [PluginScenario], events: [SimulationEvent]) {
        self.scenario = scenario
        self.registrations = registrations
        self.events = events
        var tick = 0
        for (position, event) in events.enumerated() {
            if case .tick = event { tick += 1 }
            ticks.append(tick)
            read(event, at: position)
            if case .journal(let event) = event { read(event, at: position) }
        }
    }

    private mutating func read(_ event: SimulationEvent, at position: Int) {
        switch event {
        case .offers(let number, _, let offered):
            offers[number] = offered
            // Outcomes may come before `submit` returns.
            for offered in offered where taken[offered.mark] == nil {
                taken[offered.mark] = Taken(at: position, message: offered.message)
            }
        case .took(let number, let count):
            for offered in offers[number]?.dropFirst(count) ?? [] { taken[offered.mark] = nil }
        case .acknowledged(let mark): taken[mark]?.acknowledged.append(position)
        case .settled(let mark, _): taken[mark]?.settled.append(position)
        case .callBegan(let number, let registration, _, let attempt):
            calls.append(
                Call(at: position, from: position, number: number, registration: registration, attempt: attempt)
            )
        case .callEnded(let number, .returned):
            if let call = calls.lastIndex(where: { $0.number == number }) { calls[call].returned = position }
        case .runEnded: runs[runs.count - 1].ended = position
        case .released(let isFreed, let held): runs[runs.count - 1].isFreed = isFreed && held.isEmpty
        default: break
        }
    }

    private mutating func read(_ event: JournalEvent, at position: Int) {
        switch event {
        case .began(_, let wasInterrupted):
            runs.append(Run(from: position, wasInterrupted: wasInterrupted))
            entered = [:]
        case .entered(let dispatch): entered[dispatch] = position
        case .called(_, let dispatches):
            calls[calls.count - 1].dispatches = dispatches
            if let from = dispatches.first.flatMap({ entered[$0] }) { calls[calls.count - 1].from = from }
        case .answered(let dispatch): answered.append((position, dispatch.message))
        case .outcome(let dispatch, let outcome, let isDuplicate):
            outcomes.append(Settled(at: position, dispatch: dispatch, outcome: outcome, isDuplicate: isDuplicate))
        case .synced(let changes): for change in changes { read(change, at: position) }
        case .crashed(let message):
            runs[runs.count - 1].crashed = position
            runs[runs.count - 1].poison = message
        case .left(let rows, let letters): left = (position, rows, letters)
        case .closed(let isLost):
            runs[runs.count - 1].isLost = isLost
            runs[runs.count - 1].until = position
        case .commitFailed, .readFailed, .replayRequested: break
        }
    }

    private mutating func read(_ change: StoredChange, at position: Int) {
        switch change {
        case .appended(let row, let message, let mark):
            rows[row] = Row(message: message, mark: mark, appended: position)
        case .finished(let row): rows[row]?.finished = position
        case .letterAdded(let letter, let message, let reason, let row):
            letters[letter] = Letter(message: message, added: position)
            if let row { rows[row]?.letter = reason }
        case .letterRemoved(let letter): letters[letter]?.removed = position
        case .remembered(let source, let id, _, let until):
            remembered.append(Remembered(at: position, source: source, id: id, until: until))
        case .beganAlone(let row): rows[row]?.beganAlone.append(position)
        case .survivedAlone(let row): rows[row]?.survivedAlone.append(position)
        case .letterKept: break
        }
    }
}

// MARK: - Questions

extension JournalHistory {
    typealias Anomaly = History.Anomaly

    var sources: [SourceScenario] { scenario.base.sources }

    func message(_ index: Int) -> MessageScenario { scenario.base.messages[index] }

    /// The run in which a position lies.
    func run(at position: Int) -> Int { (runs.lastIndex { $0.from <= position }) ?? 0 }

    /// Returns whether a message was handled before a position, by a call or by middleware.
    func isHandled(_ message: Int, before position: Int) -> Bool {
        outcomes.contains { $0.at < position && $0.isHandled && $0.dispatch.message == message }
            || answered.contains { $0.at < position && $0.message == message }
            || calls.contains { call in
                call.returned.map { $0 < position } ?? false && call.dispatches.contains { $0.message == message }
            }
    }

    /// Returns whether a letter of a message was on disk at a position.
    func hasLetter(_ message: Int, at position: Int) -> Bool {
        letters.values.contains {
            $0.message == message && $0.added <= position && $0.removed.map { $0 > position } ?? true
        }
    }
}
