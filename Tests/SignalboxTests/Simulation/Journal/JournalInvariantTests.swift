import Signalbox
import SignalboxCore
import Testing

/// Each invariant of several runs can fail. The log of a good simulation is mutated, and the intended invariant finds the anomaly.
@Suite struct JournalInvariantTests {
    @Test func anUnmutatedLogSatisfiesAllInvariants() {
        let log = MutatedJournal()
        for invariant in JournalInvariant.all {
            #expect(log.anomalies(of: invariant).map(\.text) == [], "\(invariant.name)")
        }
    }

    @Test func everyInvariantHasAMutationAndAUniqueName() {
        #expect(Set(JournalMutation.all.map(\.invariant)) == Set(JournalInvariant.all.map(\.name)))
        #expect(Set(JournalInvariant.all.map(\.name)).count == JournalInvariant.all.count)
    }

    @Test(arguments: JournalMutation.all) func everyMutationIsDetected(_ mutation: JournalMutation) throws {
        var log = MutatedJournal()
        mutation.mutate(&log)
        let invariant = try #require(JournalInvariant.all.first { $0.name == mutation.invariant })
        #expect(!log.anomalies(of: invariant).isEmpty)
    }
}

/// The log of a small correct simulation, to be mutated.
///
/// Source 0 has a journal and sends three messages: the call for the first hangs in the first run, and the body of the third is
/// invalid. The second run handles what is left. Source 1 has no journal and sends one message.
struct MutatedJournal: Sendable {
    var scenario: JournalScenario
    let registrations: [PluginScenario]
    var events: [SimulationEvent]

    init() {
        var sources = [0, 1].map { SourceScenario(index: $0, features: [.redelivers, .stableIDs]) }
        sources[0].feeds = [.init(messages: [1, 2, 3])]
        sources[0].journal = JournalLimits()
        sources[1].feeds = [.init(messages: [4])]
        var messages = (0...4).map { MessageScenario(index: $0, source: $0 == 4 ? 1 : 0, id: "m\($0)") }
        messages[1].acts = [.hangs, .returns]
        messages[3].content = .invalidBody
        let plugin = PluginScenario(sources: [0, 1], maxConcurrent: 2)
        var base = Scenario(sources: sources, plugins: [plugin], messages: messages)
        base.drainLimit = 3
        let runs = [JournalRunPlan(ending: .shutDown(at: 6)), JournalRunPlan()]
        let run = JournalSimulation.run(JournalScenario(base: base, runs: runs))
        (scenario, registrations, events) = (run.scenario, run.registrations, run.events)
    }

    /// Returns the anomalies that an invariant finds in the log.
    func anomalies(of invariant: JournalInvariant) -> [History.Anomaly] {
        invariant.check(JournalHistory(scenario, registrations: registrations, events: events))
    }
}

// MARK: - Mutation

extension MutatedJournal {
    /// Returns the position of the last matching event. The log must contain one.
    func last(_ isMeant: (SimulationEvent) -> Bool) -> Int { events.lastIndex(where: isMeant) ?? events.endIndex - 1 }

    /// The start of the second run.
    var secondRun: Int { last { if case .journal(.began) = $0 { true } else { false } } }

    /// The position of the last call for a row.
    func call(_ row: Int) -> Int {
        last { event in
            guard case .journal(.called(_, let dispatches)) = event else { return false }
            return dispatches.contains { $0.copy == .row(row) }
        }
    }

    /// Changes what the last call for a row dispatches.
    mutating func setCall(_ row: Int, _ dispatch: JournalDispatch) {
        let position = call(row)
        guard case .journal(.called(let call, _)) = events[position] else { return }
        events[position] = .journal(.called(call: call, [dispatch]))
    }

    /// Changes every synced change.
    mutating func mapChanges(_ body: (StoredChange) -> StoredChange?) {
        events = events.map { event in
            guard case .journal(.synced(let changes)) = event else { return event }
            return .journal(.synced(changes.compactMap(body)))
        }
    }

    mutating func insert(_ new: [SimulationEvent], at position: Int) { events.insert(contentsOf: new, at: position) }
}

/// A change of the log of several runs that violates one invariant.
struct JournalMutation: Sendable, CustomTestStringConvertible {
    let invariant: String
    let mutate: @Sendable (inout MutatedJournal) -> Void

    init(_ invariant: String, _ mutate: @escaping @Sendable (inout MutatedJournal) -> Void) {
        self.invariant = invariant
        self.mutate = mutate
    }

    var testDescription: String { invariant }

    static let all = losses + answers + calls + crashes

    private static let losses = [
        JournalMutation("acknowledgedIsStored") { log in
            log.mapChanges { if case .appended(1, _, _) = $0 { nil } else { $0 } }
        },
        JournalMutation("acknowledgedIsStored") { log in
            // Source 1 is acknowledged before its call.
            let mark = ArrivalMark(source: 1, token: 1)
            let acknowledged = log.events.remove(at: log.last { $0 == .acknowledged(mark) })
            let took = log.events.firstIndex { if case .callBegan = $0 { true } else { false } }
            log.insert([acknowledged], at: took ?? 0)
        },
        JournalMutation("acknowledgedIsNotLost") { log in
            log.events[log.events.count - 1] = .journal(.left(rows: [], letters: []))
        },
        JournalMutation("rowsLeaveWithTheirOutcome") { log in
            log.events.removeAll { event in
                if case .journal(.outcome(let dispatch, _, _)) = event { dispatch.copy == .row(1) } else { false }
            }
        },
        JournalMutation("rowsLeaveWithTheirOutcome") { log in
            log.mapChanges { if case .letterAdded = $0 { nil } else { $0 } }
        },
        JournalMutation("lettersLeaveWhenHandled") { log in
            log.insert([.journal(.synced([.letterRemoved(letter: 1)]))], at: log.events.count - 1)
        },
    ]

    private static let answers = [
        JournalMutation("takenIsAnsweredOnce") { log in
            let position = log.last { if case .settled = $0 { true } else { false } }
            log.insert([log.events[position]], at: position)
        },
        JournalMutation("takenIsAnsweredOnce") { log in
            let position = log.last { if case .acknowledged = $0 { true } else { false } }
            log.insert([log.events[position]], at: position)
        },
        JournalMutation("takenIsAnsweredOnce") { log in
            log.events.remove(at: log.last { if case .settled = $0 { true } else { false } })
        },
        JournalMutation("nothingIsLeft") { log in
            log.events[log.events.count - 1] = .journal(.left(rows: [1], letters: [3]))
        },
        JournalMutation("nothingIsLeft") { log in
            let position = log.last { if case .released = $0 { true } else { false } }
            log.events[position] = .released(supervisor: false, held: [])
        },
    ]

    private static let calls = [
        JournalMutation("finishedIsNotCalled") { log in
            let call = [log.events[log.call(1) - 1], log.events[log.call(1)]]
            log.insert(call, at: log.events.count - 1)
        },
        JournalMutation("onlyRowsAreCalled") { log in
            let mark = ArrivalMark(source: 0, token: 1)
            log.setCall(1, JournalDispatch(copy: .memory(mark), message: 1, isRedelivered: false))
        },
        JournalMutation("rowsAreCalledInOrder") { log in
            let (first, second) = (log.call(1), log.call(2))
            (log.events[first], log.events[second]) = (log.events[second], log.events[first])
        },
        JournalMutation("redeliveredIsMarked") { log in
            log.setCall(1, JournalDispatch(copy: .row(1), message: 1, isRedelivered: false))
        },
        JournalMutation("journalLimitsHold") { log in log.scenario.base.sources[0].journal?.rows = 2 },
        JournalMutation("journalLimitsHold") { log in log.scenario.base.sources[0].journal?.bytes = 60 },
        JournalMutation("rememberedIsNotCalled") { log in
            let id = StoredChange.remembered(source: 0, id: "m2", content: 0, until: 10_000)
            log.insert([.journal(.synced([id]))], at: log.secondRun + 1)
        },
    ]

    private static let crashes = [
        JournalMutation("poisonIsFound") { log in
            let call = [log.events[log.call(1) - 1], log.events[log.call(1)]]
            let alone = SimulationEvent.journal(.synced([.beganAlone(row: 1)]))
            let death = [.journal(.began(run: 1, wasInterrupted: true)), alone] + call + [.journal(.crashed(by: 1))]
            log.insert(death + death + death, at: log.secondRun)
        },
        JournalMutation("crashesHaveTheirCount") { log in
            log.mapChanges { change in
                guard case .letterAdded(let letter, let message, _, let row) = change else { return change }
                return .letterAdded(letter: letter, message: message, reason: "crashedPlugin", row: row)
            }
        },
    ]
}
