package import SignalboxCore
import Synchronization

/// An intake that keeps what it takes and lets the test decide what becomes of it.
package final class RecordingIntake: Intake {
    /// An arrival, and its outcome to come.
    package struct Taken: Sendable {
        package let arrival: Arrival
        fileprivate let settlement: OneSettlement

        /// Custody and outcome at once, as without a journal. What was settled before stays as it is.
        package func settle(_ outcome: Outcome = .handled(reply: nil)) {
            settlement.settle(outcome)
        }

        /// No custody, so the arrival may come again.
        package func abandon() {
            settlement.settle(.abandoned(.holdLimit), hasCustody: false)
        }

        /// The original's text.
        package var text: String { String(decoding: Array(arrival.original), as: UTF8.self) }

        /// The action's name, or the reason why there is none.
        package var name: String {
            switch arrival.reading {
            case .success(let action): action.name.text
            case .failure(let rejection): rejection.reason.description
            }
        }
    }

    private struct State {
        var room: Int
        var isClosed = false
        var hasGivenUp = false
        var waiters: [CheckedContinuation<Bool, Never>] = []
    }

    /// Everything taken, in order.
    package let taken = EventList<Taken>()
    /// The calls of `room()`.
    package let roomCalls = EventList<Void>()
    private let state: Mutex<State>
    private let decide: @Sendable (Taken) -> Void

    /// - Parameters:
    ///   - room: how many arrivals are taken before the window is full.
    ///   - decide: what becomes of an arrival, called inside `submit`.
    package init(room: Int = .max, decide: @escaping @Sendable (Taken) -> Void = { $0.settle() }) {
        state = Mutex(State(room: room))
        self.decide = decide
    }

    /// An intake that decides nothing by itself.
    package static func holding(room: Int = .max) -> RecordingIntake {
        RecordingIntake(room: room) { _ in }
    }

    package func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        let count = state.withLock { state in
            guard !state.isClosed else { return 0 }
            let count = min(state.room, batch.count)
            state.room -= count
            return count
        }
        let new = batch.prefix(count).map { Taken(arrival: $0, settlement: OneSettlement(of: $0, to: sink)) }
        for one in new { decide(one) }
        taken.append(contentsOf: new)
        // Whoever gave up meanwhile may have looked before these were there.
        if state.withLock({ $0.hasGivenUp }) { for one in new { one.settle() } }
        return count
    }

    package func room() async throws(SourceClosed) {
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

    /// Room for so many more.
    package func makeRoom(_ count: Int) {
        release(isOpen: true) { $0.room = $0.room.addingReportingOverflow(count).overflow ? .max : $0.room + count }
    }

    /// Nothing more is taken.
    package func close() {
        release(isOpen: false) { $0.isClosed = true }
    }

    /// Everything is settled, what is being taken just now too, and nothing more is taken: for the end of a source, and for
    /// what a test leaves behind that has failed.
    package func giveUp() {
        release(isOpen: false) {
            $0.isClosed = true
            $0.hasGivenUp = true
        }
        for one in taken.all { one.settle() }
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

/// The one outcome of an arrival that a test decides. Who is told is let go of then, as a supervisor does: an intake that
/// keeps its arrivals would otherwise keep the adapter, which keeps the intake.
package final class OneSettlement: Sendable {
    private let token: UInt64
    private let sink: Mutex<(any SettlementSink)?>

    package init(of arrival: Arrival, to sink: any SettlementSink) {
        token = arrival.token
        self.sink = Mutex(sink)
    }

    /// The first call tells the outcome, with custody before it unless there shall be none. Later ones do nothing.
    package func settle(_ outcome: Outcome, hasCustody: Bool = true) {
        let sink = self.sink.withLock { sink in
            defer { sink = nil }
            return sink
        }
        if hasCustody { sink?.mayAcknowledge(token) }
        sink?.settle(token, outcome)
    }
}
