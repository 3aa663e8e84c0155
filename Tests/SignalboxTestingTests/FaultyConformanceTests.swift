import SignalboxCore
import SignalboxTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct FaultyConformanceTests {
    struct Expectation: Sendable, CustomTestStringConvertible {
        let fault: FaultyAdapter.Fault
        let testCase: AdapterConformance.Case
        /// A part of the finding's expectation.
        let text: String

        var testDescription: String { "\(fault) in \(testCase)" }

        init(_ fault: FaultyAdapter.Fault, _ testCase: AdapterConformance.Case, _ text: String) {
            self.fault = fault
            self.testCase = testCase
            self.text = text
        }
    }

    static let expectations: [Expectation] = [
        Expectation(.dropsOne, .deliverAll, "every message reaches its plugin"),
        Expectation(.deliversOneTwice, .deliverAll, "each message arrives once"),
        Expectation(.dropsLong, .deliverAll, "every message reaches its plugin"),
        Expectation(.truncatesLong, .deliverAll, "bodies arrive as they were sent"),
        Expectation(.altersABody, .deliverAll, "bodies arrive as they were sent"),
        Expectation(.redeliversEverything, .deliverAll, "only sent messages arrive"),
        Expectation(.hasASender, .deliverAll, "have a sender"),
        Expectation(.reorders, .orderPerSource, "in the order sent"),
        Expectation(.staysBusyWhenCancelledEarly, .concurrentStartAndStop, "a cancelled run throws no error"),
        Expectation(.repliesHandledToAll, .settledInsideSubmit, "is the reply"),
        Expectation(.endsAfter("threw"), .throwingPlugin, "a run continues until it is cancelled"),
        Expectation(.endsAfter("unknownAction"), .unknownAction, "a run continues until it is cancelled"),
        Expectation(.dropsUnreadable, .malformedArrival, "10 unreadable messages are rejected"),
        Expectation(.altersUnreadable, .malformedArrival, "contain the sent id"),
        Expectation(.endsAfter("sourceNotAllowed"), .forbiddenSource, "a run continues until it is cancelled"),
        Expectation(.reportsAnotherSource, .forbiddenSource, "a plugin that does not allow the source is never called"),
        Expectation(.repliesHandledToAll, .answersEverySender, "is an error with code threw"),
        Expectation(.ignoresRoom, .windowFullThenDrained, "and the return of room()"),
        Expectation(.returnsEarly, .drainOnStop, "the run returns only after every arrival taken is settled"),
        Expectation(.throwsWhenStopped, .stopIsIdempotent, "a cancelled run throws no error"),
        Expectation(.submitsAfterItsRun, .stopIsIdempotent, "no submit after the run returned"),
        Expectation(.endsAfter("timeout"), .hungPlugin, "a run continues until it is cancelled"),
        Expectation(.losesAbandoned, .abandonedIsNotAcknowledged, "every message reaches its plugin"),
        Expectation(.offersEverythingAtOnce, .memoryBoundedUnderSlowPlugin, "unsettled or offered at once"),
        Expectation(.redeliversRejected, .unknownAction, "are not redelivered in the next run"),
        Expectation(.redeliversRejected, .forbiddenSource, "are not redelivered in the next run"),
        Expectation(.redeliversRejected, .malformedArrival, "are not redelivered in the next run"),
        Expectation(.reusesTokens, .deliverAll, "tokens of unsettled arrivals are unique"),
        Expectation(.dropsDuplicates, .duplicateWhileRunning, "has the outcome handled twice"),
        Expectation(.dropsDuplicates, .duplicateAfterHandled, "has the outcome handled twice"),
        Expectation(.dropsDuplicates, .duplicateAfterFailed, "has the outcome threw twice"),
        Expectation(.marksDuplicates, .duplicateAfterHandled, "has the outcome handled twice"),
    ]

    @Test(arguments: expectations)
    func theCaseDetectsTheFault(_ expectation: Expectation) async {
        let report = await Self.suite(expectation.fault).run([expectation.testCase])
        #expect(report.passed.isEmpty)
        #expect(
            report.findings.contains { $0.testCase == expectation.testCase && $0.expected.contains(expectation.text) },
            "\(report)"
        )
    }

    @Test(arguments: [
        (FaultyAdapter.Fault.sendsNoReply, AdapterConformance.Case.answersEverySender),
        (.hangsWhenStopped, .drainOnStop),
    ])
    func aHungCaseIsAFindingWithItsCurrentStep(
        _ fault: FaultyAdapter.Fault,
        _ testCase: AdapterConformance.Case
    ) async {
        let report = await Self.suite(fault, limit: .seconds(3)).run([testCase])
        #expect(report.findings.map(\.expected) == ["the case ends"], "\(report)")
        // The step depends on the machine. On a slow one, the subject is still being made.
        #expect(report.findings.allSatisfy { $0.seen.contains(/, while [a-z]+ .*; \d+ messages/) }, "\(report)")
    }

    @Test func everyCaseDetectsAFault() {
        let found = Set(Self.expectations.map(\.testCase))
        #expect(found == Set(AdapterConformance.Case.allCases))
    }

    @Test(arguments: [FaultyAdapter.Fault.none, .awaitsRoomFirst])
    func theAdapterConformsWithoutAFault(_ none: FaultyAdapter.Fault) async {
        let report = await Self.suite(none).run()
        #expect(report.isConforming, "\(report)")
        #expect(report.passed == AdapterConformance.Case.allCases)
    }

    @Test func aSubjectThatCannotBeCreatedIsAFinding() async {
        let report = await AdapterConformance { _ in throw ConformanceError("no broker") }.run([.deliverAll])
        #expect(report.findings.map(\.seen) == ["an error while making the subject: no broker"])
    }

    private static func suite(_ fault: FaultyAdapter.Fault, limit: Duration = .seconds(60)) -> AdapterConformance {
        AdapterConformance(limit: limit) { source in FaultySubject(source, fault) }
    }
}

/// A faulty adapter with its sender.
struct FaultySubject: ConformanceSubject {
    var adapter: any Adapter { faulty }
    var batchBound: Int { faulty.batchBound }
    private let faulty: FaultyAdapter

    init(_ source: SourceName, _ fault: FaultyAdapter.Fault) {
        faulty = FaultyAdapter(source: source, fault: fault)
    }

    func send(_ messages: [ConformanceMessage]) async throws {
        faulty.state.change { $0.queue += messages }
    }

    func answer(to id: ActionID) async throws -> ConformanceAnswer {
        await faulty.state.until { $0.answers[id] != nil }
        guard let answer = faulty.state.value.answers[id] else { throw CancellationError() }
        return answer
    }

    func end() async {}
}

/// An adapter that replies and redelivers, with one fault or with one unusual but correct behavior.
final class FaultyAdapter: Adapter {
    enum Fault: Hashable {
        case none
        /// Not a fault: the adapter awaits `room()` before each submit of one arrival.
        case awaitsRoomFirst
        case dropsOne, deliversOneTwice, altersABody, redeliversEverything
        case reorders
        case dropsLong, truncatesLong
        case dropsUnreadable, altersUnreadable
        case reportsAnotherSource, hasASender
        case endsAfter(String)
        case sendsNoReply, repliesHandledToAll
        case ignoresRoom, offersEverythingAtOnce, reusesTokens
        case returnsEarly, hangsWhenStopped, throwsWhenStopped, submitsAfterItsRun, staysBusyWhenCancelledEarly
        case losesAbandoned, redeliversRejected
        case dropsDuplicates, marksDuplicates
    }

    struct State: Sendable {
        var queue: [ConformanceMessage] = []
        var inside: [UInt64: ConformanceMessage] = [:]
        var answers: [ActionID: ConformanceAnswer] = [:]
        var handled: [ConformanceMessage] = []
        /// The messages abandoned in this run, by token.
        var abandoned: [UInt64: ConformanceMessage] = [:]
        /// The messages rejected in any run.
        var rejected: [ConformanceMessage] = []
        var tokens: UInt64 = 0
        var delivered = 0
        /// The number of deliveries of each id.
        var deliveries: [ActionID: Int] = [:]
        var isBusy = false
        var mustEnd = false
        var lastIntake: (any Intake)?
    }

    let source: SourceName
    let features: AdapterFeatures = [.replies, .redelivers]
    let batchBound: Int
    let fault: Fault
    let state = Watched(State())

    init(source: SourceName, fault: Fault) {
        self.source = source
        self.fault = fault
        batchBound = fault == .awaitsRoomFirst ? 1 : 10
    }

    func run(into intake: any Intake) async throws {
        guard state.change({ $0.begin() }) else { throw Broken() }
        if fault == .staysBusyWhenCancelledEarly, Task.isCancelled { return }
        let sink = FaultySink(self)
        if fault == .submitsAfterItsRun, let last = state.value.lastIntake, let late = ActionID("late") {
            _ = last.submit(arrivals([(0, ConformanceMessage(id: late, action: nil, body: ""))]), to: sink)
        }
        while await state.until({ !$0.queue.isEmpty || $0.mustEnd }), !Task.isCancelled, !state.value.mustEnd {
            if fault == .awaitsRoomFirst {
                do throws(SourceClosed) { try await intake.room() } catch { break }
                if Task.isCancelled { break }
            }
            let count = fault == .offersEverythingAtOnce ? Int.max : batchBound
            guard await submit(take(count), to: intake, sink) else { break }
        }
        if fault == .hangsWhenStopped { await state.untilUncancelled { $0.tokens == .max } }
        if fault != .returnsEarly { await state.untilUncancelled { $0.inside.isEmpty } }
        state.change { [fault] state in
            state.isBusy = false
            state.lastIntake = intake
            state.queue = state.abandoned.sorted { $0.key < $1.key }.map(\.value) + state.queue
            state.abandoned = [:]
            if fault == .redeliversEverything { state.queue = state.handled + state.queue }
            if fault == .redeliversRejected { state.queue = state.rejected + state.queue }
            for message in state.queue where state.answers[message.id] == nil {
                state.answers[message.id] = .error(code: "drain")
            }
        }
        if fault == .throwsWhenStopped { throw Broken() }
    }

    private func submit(_ batch: [Arrival], to intake: any Intake, _ sink: FaultySink) async -> Bool {
        var rest = batch[...]
        while true {
            rest = rest.dropFirst(intake.submit(Array(rest), to: sink))
            if rest.isEmpty { return true }
            if fault == .ignoresRoom {
                await Task.yield()
            } else {
                do throws(SourceClosed) { try await intake.room() } catch { break }
            }
            if Task.isCancelled { break }
        }
        let tokens = rest.map(\.token)
        state.change { state in
            state.queue = tokens.compactMap { state.inside.removeValue(forKey: $0) } + state.queue
        }
        return false
    }

    private func take(_ count: Int) -> [Arrival] {
        let taken = state.change { [fault] state -> [(UInt64, ConformanceMessage)] in
            let messages = state.queue.prefix(count)
            state.queue.removeFirst(messages.count)
            return messages.flatMap { state.deliver($0, fault) }
        }
        return arrivals(fault == .reorders && taken.count > 1 ? [taken[1], taken[0]] + taken.dropFirst(2) : taken)
    }

    private func arrivals(_ messages: [(token: UInt64, message: ConformanceMessage)]) -> [Arrival] {
        var batch = ArrivalBatch(pool: ArrivalPool())
        let origin = Origin(source: fault == .reportsAnotherSource ? "elsewhere" : source, facts: InMemoryFacts())
        let sender = fault == .hasASender ? RecordingSender() : nil
        for (token, message) in messages {
            var text = message.envelope
            if fault == .altersABody { text = text.replacing("plain", with: "plane") }
            if fault == .truncatesLong { text = text.replacing(String(repeating: "p", count: 40_000), with: "p") }
            if fault == .marksDuplicates, state.value.deliveries[message.id, default: 0] > 1 {
                text = text.replacing("\"number\":", with: "\"again\":true,\"number\":")
            }
            if fault == .altersUnreadable, message.action == nil { text = "unreadable" }
            Array(text.utf8).withUnsafeBytes { bytes in
                batch.append(bytes, token: token, origin: origin, sender: sender, receivedAt: WallTime(seconds: 0))
            }
        }
        return batch.take()
    }
}

extension FaultyAdapter.State {
    mutating func begin() -> Bool {
        defer { isBusy = true }
        mustEnd = false
        return !isBusy
    }

    /// Returns the deliveries of a message: one, unless the fault changes that.
    mutating func deliver(_ message: ConformanceMessage, _ fault: FaultyAdapter.Fault) -> [(UInt64, ConformanceMessage)]
    {
        delivered += 1
        deliveries[message.id, default: 0] += 1
        var count = 1
        if fault == .dropsDuplicates, deliveries[message.id, default: 0] > 1 { count = 0 }
        if fault == .dropsOne, delivered == 5 { count = 0 }
        if fault == .deliversOneTwice, delivered == 5 { count = 2 }
        if fault == .dropsUnreadable, message.action == nil { count = 0 }
        if fault == .dropsLong, message.envelope.utf8.count > 8_192 { count = 0 }
        return (0..<count).map { _ in
            tokens = fault == .reusesTokens ? 1 : tokens + 1
            inside[tokens] = message
            return (tokens, message)
        }
    }
}

/// The sink of a faulty adapter.
final class FaultySink: SettlementSink {
    private let adapter: FaultyAdapter

    init(_ adapter: FaultyAdapter) {
        self.adapter = adapter
    }

    func mayAcknowledge(_ token: UInt64) {}

    func settle(_ token: UInt64, _ outcome: Outcome) {
        adapter.state.change { [fault = adapter.fault] state in
            guard let message = state.inside.removeValue(forKey: token) else { return }
            if case .abandoned = outcome {
                if fault != .losesAbandoned { state.abandoned[token] = message }
            } else {
                state.handled.append(message)
            }
            if case .rejected = outcome { state.rejected.append(message) }
            switch fault {
            case .sendsNoReply: break
            case .repliesHandledToAll: state.answers[message.id] = .reply(Bytes("0"))
            default: state.answers[message.id] = ConformanceAnswer(outcome)
            }
            if case .endsAfter(let word) = fault, reason(outcome) == word { state.mustEnd = true }
        }
    }
}
