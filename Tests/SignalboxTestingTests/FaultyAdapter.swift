import SignalboxCore
import SignalboxTesting

/// An adapter that answers and redelivers, and does one thing wrong, or one thing right in another way.
final class FaultyAdapter: Adapter {
    enum Fault: Hashable {
        case none
        /// No fault: it awaits `room()` before each submit of one arrival.
        case asksForRoomFirst
        case dropsOne, deliversOneTwice, altersABody, redeliversEverything
        case reorders
        case dropsTheLong, cutsTheLong
        case dropsTheUnreadable, forgetsTheUnreadable
        case liesAboutItsSource, hasASender
        case endsAfter(String)
        case answersNobody, answersAllAsHandled
        case ignoresRoom, offersAllItHas, reusesTokens
        case returnsEarly, hangsWhenStopped, throwsWhenStopped, submitsAfterItsRun, staysBusyWhenCancelledEarly
        case forgetsTheAbandoned, keepsTheRejected
        case dropsRepeats, marksRepeats
    }

    struct State: Sendable {
        var queue: [ConformanceMessage] = []
        var inside: [UInt64: ConformanceMessage] = [:]
        var answers: [ActionID: ConformanceAnswer] = [:]
        var handled: [ConformanceMessage] = []
        /// What was abandoned in this run, by token.
        var abandoned: [UInt64: ConformanceMessage] = [:]
        /// What was rejected in any run.
        var rejected: [ConformanceMessage] = []
        var tokens: UInt64 = 0
        var delivered = 0
        /// How often each id was delivered.
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
        batchBound = fault == .asksForRoomFirst ? 1 : 10
    }

    func run(into intake: any Intake) async throws {
        guard state.change({ $0.begin() }) else { throw Broken() }
        if fault == .staysBusyWhenCancelledEarly, Task.isCancelled { return }
        let sink = FaultySink(self)
        if fault == .submitsAfterItsRun, let last = state.value.lastIntake, let late = ActionID("late") {
            _ = last.submit(arrivals([(0, ConformanceMessage(id: late, action: nil, body: ""))]), to: sink)
        }
        while await state.until({ !$0.queue.isEmpty || $0.mustEnd }), !Task.isCancelled, !state.value.mustEnd {
            if fault == .asksForRoomFirst {
                do throws(SourceClosed) { try await intake.room() } catch { break }
                if Task.isCancelled { break }
            }
            let count = fault == .offersAllItHas ? Int.max : batchBound
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
            if fault == .keepsTheRejected { state.queue = state.rejected + state.queue }
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
        let origin = Origin(source: fault == .liesAboutItsSource ? "elsewhere" : source, facts: InMemoryFacts())
        let sender = fault == .hasASender ? RecordingSender() : nil
        for (token, message) in messages {
            var text = message.envelope
            if fault == .altersABody { text = text.replacing("plain", with: "plane") }
            if fault == .cutsTheLong { text = text.replacing(String(repeating: "p", count: 40_000), with: "p") }
            if fault == .marksRepeats, state.value.deliveries[message.id, default: 0] > 1 {
                text = text.replacing("\"number\":", with: "\"again\":true,\"number\":")
            }
            if fault == .forgetsTheUnreadable, message.action == nil { text = "unreadable" }
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

    /// The deliveries a message leads to: one, unless the fault says otherwise.
    mutating func deliver(_ message: ConformanceMessage, _ fault: FaultyAdapter.Fault) -> [(UInt64, ConformanceMessage)]
    {
        delivered += 1
        deliveries[message.id, default: 0] += 1
        var count = 1
        if fault == .dropsRepeats, deliveries[message.id, default: 0] > 1 { count = 0 }
        if fault == .dropsOne, delivered == 5 { count = 0 }
        if fault == .deliversOneTwice, delivered == 5 { count = 2 }
        if fault == .dropsTheUnreadable, message.action == nil { count = 0 }
        if fault == .dropsTheLong, message.envelope.utf8.count > 8_192 { count = 0 }
        return (0..<count).map { _ in
            tokens = fault == .reusesTokens ? 1 : tokens + 1
            inside[tokens] = message
            return (tokens, message)
        }
    }
}
