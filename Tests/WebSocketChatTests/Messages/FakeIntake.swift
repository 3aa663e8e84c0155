import SignalboxCore
import SignalboxTesting

/// An intake with as much room as it is given, that settles nothing by itself unless it is told how.
final class FakeIntake: Intake {
    struct Taken: Sendable {
        let arrival: Arrival
        fileprivate let settlement: OneSettlement

        func settle(_ outcome: Outcome = .handled(reply: nil)) {
            settlement.settle(outcome)
        }
    }

    private struct State: Sendable {
        var room: Int
        var isClosed = false
        var taken: [Taken] = []
        var batches: [Int] = []
        var roomCalls = 0
        var handlesAll = false
    }

    private let state: Watched<State>
    private let decide: (@Sendable (Taken) -> Void)?

    /// - Parameter decide: what becomes of an arrival, called inside `submit`.
    init(room: Int = .max, decide: (@Sendable (Taken) -> Void)? = nil) {
        state = Watched(State(room: room))
        self.decide = decide
    }

    /// An intake that handles everything at once.
    static func handling() -> FakeIntake { FakeIntake { $0.settle() } }

    var taken: [Taken] { state.value.taken }
    /// How many arrivals each call of `submit` brought.
    var batches: [Int] { state.value.batches }
    /// What was taken, as it came.
    var originals: [String] { taken.map { $0.arrival.original.text ?? "?" } }

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        let new = state.change { state -> [Taken] in
            state.batches.append(batch.count)
            guard !state.isClosed else { return [] }
            let count = min(state.room, batch.count)
            state.room -= count
            let new = batch.prefix(count).map { Taken(arrival: $0, settlement: OneSettlement(of: $0, to: sink)) }
            state.taken += new
            return new
        }
        if state.value.handlesAll {
            for one in new { one.settle() }
        } else if let decide {
            for one in new { decide(one) }
        }
        return new.count
    }

    func room() async throws(SourceClosed) {
        state.change { $0.roomCalls += 1 }
        await state.untilUncancelled { $0.room > 0 || $0.isClosed }
        if state.value.isClosed { throw SourceClosed() }
    }

    func makeRoom(_ count: Int) {
        state.change { $0.room += count }
    }

    /// Handles what was taken and not settled, and whatever is taken from now on.
    func handleAll() {
        let taken = state.change { state in
            state.handlesAll = true
            return state.taken
        }
        for one in taken { one.settle() }
    }

    func close() {
        state.change { $0.isClosed = true }
    }

    /// What a test leaves behind that has failed: everything settled, and nothing more taken.
    func giveUp() {
        handleAll()
        close()
    }

    /// Waits until so much was taken since it was made; returns early when the task is cancelled.
    func untilTaken(_ count: Int, file: StaticString = #fileID, line: UInt = #line) async {
        await state.until(file: file, line: line) { $0.taken.count >= count }
    }

    /// Waits until somebody has asked for room so often; returns early when the task is cancelled.
    func untilRoomWasAskedFor(_ count: Int = 1, file: StaticString = #fileID, line: UInt = #line) async {
        await state.until(file: file, line: line) { $0.roomCalls >= count }
    }
}
