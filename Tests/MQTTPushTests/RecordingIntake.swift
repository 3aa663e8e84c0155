import SignalboxCore
import SignalboxTesting
import Synchronization

/// An intake that keeps what it takes and lets the test decide what becomes of it.
final class RecordingIntake: Intake {
    struct Taken: Sendable {
        let arrival: Arrival
        let sink: any SettlementSink

        /// Custody and outcome at once, as without a journal.
        func handle() {
            sink.mayAcknowledge(arrival.token)
            sink.settle(arrival.token, .handled(reply: nil))
        }

        func abandon() {
            sink.settle(arrival.token, .abandoned(.holdLimit))
        }
    }

    private struct State {
        var room: Int
        var isClosed = false
        var waiters: [CheckedContinuation<Bool, Never>] = []
    }

    /// Everything taken, in order.
    let taken = EventList<Taken>()
    /// The number of calls of `room()`.
    let roomCalls = EventList<Void>()
    private let state: Mutex<State>
    private let decide: @Sendable (Taken) -> Void

    /// - Parameters:
    ///   - room: how many arrivals are taken before the window is full.
    ///   - decide: what becomes of an arrival, called inside `submit`.
    init(room: Int = .max, decide: @escaping @Sendable (Taken) -> Void = { $0.handle() }) {
        state = Mutex(State(room: room))
        self.decide = decide
    }

    /// An intake that decides nothing by itself.
    static func holding(room: Int = .max) -> RecordingIntake {
        RecordingIntake(room: room) { _ in }
    }

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        let count = state.withLock { state in
            guard !state.isClosed else { return 0 }
            let count = min(state.room, batch.count)
            state.room -= count
            return count
        }
        let new = batch.prefix(count).map { Taken(arrival: $0, sink: sink) }
        for one in new { decide(one) }
        taken.append(contentsOf: new)
        return count
    }

    func room() async throws(SourceClosed) {
        roomCalls.append(contentsOf: [()])
        let isOpen = await withCheckedContinuation { continuation in
            let known = state.withLock { state -> Bool? in
                if state.isClosed { return false }
                if state.room > 0 { return true }
                state.waiters.append(continuation)
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
        if !isOpen { throw SourceClosed() }
    }

    func makeRoom(_ count: Int) {
        release(isOpen: true) { $0.room += count }
    }

    func close() {
        release(isOpen: false) { $0.isClosed = true }
    }

    private func release(isOpen: Bool, _ change: (inout State) -> Void) {
        let waiters = state.withLock { state in
            change(&state)
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: isOpen) }
    }
}
