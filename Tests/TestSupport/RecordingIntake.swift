package import SignalboxCore
import Synchronization

/// An intake that stores the arrivals it takes and lets the test settle them.
package final class RecordingIntake: Intake {
    /// An arrival and its pending settlement.
    package struct Taken: Sendable {
        package let arrival: Arrival
        fileprivate let settlement: OneSettlement

        /// Acknowledges and settles the arrival together, as without a journal. Does nothing if it is already settled.
        package func settle(_ outcome: Outcome = .handled(reply: nil)) {
            settlement.settle(outcome)
        }

        /// Abandons the arrival without an acknowledgement, so that it may be redelivered.
        package func abandon() {
            settlement.settle(.abandoned(.ackDeadline), hasCustody: false)
        }

        /// The text of the original bytes.
        package var text: String { String(decoding: Array(arrival.original), as: UTF8.self) }

        /// The action's name, or the reason the arrival has none.
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
        var settlesAll = false
        var waiters: [CheckedContinuation<Bool, Never>] = []
    }

    /// Every arrival taken, in order.
    package let taken = EventList<Taken>()
    /// The calls of `room()`.
    package let roomCalls = EventList<Void>()
    private let state: Mutex<State>
    private let decide: @Sendable (Taken) -> Void

    /// - Parameters:
    ///   - room: The number of arrivals to take before the window is full.
    ///   - decide: Decides on an arrival; called inside `submit`.
    package init(room: Int = .max, decide: @escaping @Sendable (Taken) -> Void = { $0.settle() }) {
        state = Mutex(State(room: room))
        self.decide = decide
    }

    /// Returns an intake that settles no arrival by itself.
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
        // A concurrent `settleAll()` may have read `taken` before these arrivals were appended.
        if state.withLock({ $0.settlesAll }) { for one in new { one.settle() } }
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

    /// Makes room for `count` more arrivals.
    package func makeRoom(_ count: Int) {
        release(isOpen: true) { $0.room = $0.room.addingReportingOverflow(count).overflow ? .max : $0.room + count }
    }

    /// Closes the intake, which then takes no arrivals.
    package func close() {
        release(isOpen: false) { $0.isClosed = true }
    }

    /// Closes the intake and settles every arrival, including those a concurrent `submit` is taking. For the end of a
    /// source, and for arrivals that a failed test leaves unsettled.
    package func settleAll() {
        release(isOpen: false) {
            $0.isClosed = true
            $0.settlesAll = true
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

/// The single settlement of an arrival by a test. Releases the sink afterwards, as a supervisor does: an intake that
/// stores its arrivals would otherwise retain the adapter, which retains the intake.
package final class OneSettlement: Sendable {
    private let token: UInt64
    private let sink: Mutex<(any SettlementSink)?>

    package init(of arrival: Arrival, to sink: any SettlementSink) {
        token = arrival.token
        self.sink = Mutex(sink)
    }

    /// Settles the arrival on the first call, after an acknowledgement if `hasCustody` is true. Later calls do nothing.
    package func settle(_ outcome: Outcome, hasCustody: Bool = true) {
        let sink = self.sink.withLock { sink in
            defer { sink = nil }
            return sink
        }
        if hasCustody { sink?.mayAcknowledge(token) }
        sink?.settle(token, outcome)
    }
}
