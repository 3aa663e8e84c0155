import AdapterSupport
import SignalboxCore
import Synchronization

/// Holds a source's unsettled messages, with their connections and the ids needed to answer them.
///
/// A token consists of an index and a use count, so a late outcome matches no entry. The table is as large as the
/// source's window plus the messages of one pass of the thread. This type is safe to use from any thread.
final class SettlementTable: SettlementSink {
    private struct Slot {
        var uses: UInt32 = 0
        /// Whether a message has the slot.
        var isExpected = false
        /// The flow that counts the message, or `nil` if it no longer does, because the message is accepted.
        var flow: ConnectionFlow?
        /// The connection that expects an answer and the id to use in the answer, or `nil` if no answer is expected.
        var answer: (chat: ChatConnection, id: ActionID, key: IDKey)?
    }

    private struct State {
        var slots: [Slot] = []
        var free: [UInt32] = []
        /// Fulfilled when every message is settled, or `nil` while nothing is waiting for that.
        var allSettled: Promise<Void>?
    }

    private let state = Mutex(State())
    // The count is kept outside the lock, so that an outcome takes the lock only once. Waiters check the count while
    // they hold the lock.
    private let count = Atomic<Int>(0)
    private let answers: Bool

    /// Creates an empty table.
    ///
    /// - Parameter answers: Whether actions that have an id are answered with their outcome.
    init(answers: Bool) {
        self.answers = answers
    }

    // MARK: - The service's thread

    /// Reserves tokens for future messages. After ``expect(_:of:)``, each message's outcome releases its token.
    func reserve(_ count: Int) -> [UInt64] {
        state.withLock { state in
            (0..<count).map { _ in
                let slot: UInt32
                if let free = state.free.popLast() {
                    slot = free
                } else {
                    slot = UInt32(truncatingIfNeeded: state.slots.count)
                    state.slots.append(Slot())
                }
                return UInt64(state.slots[Int(slot)].uses) << 32 | UInt64(slot)
            }
        }
    }

    /// Registers arrivals under their tokens. Call this before you submit them.
    ///
    /// - Parameter owners: The connection of each arrival.
    func expect(_ arrivals: [Arrival], of owners: [InboundConnection]) {
        let refused = answers ? RefusedMessage.names(in: arrivals) : [:]
        count.add(arrivals.count, ordering: .relaxed)
        state.withLock { state in
            for (position, (arrival, owner)) in zip(arrivals, owners).enumerated() {
                let index = Int(UInt32(truncatingIfNeeded: arrival.token))
                state.slots[index].isExpected = true
                state.slots[index].flow = owner.flow
                guard answers, let (id, key) = SettlementTable.name(of: arrival) ?? refused[position] else { continue }
                state.slots[index].answer = (owner.chat, id, key)
            }
        }
    }

    private static func name(of arrival: Arrival) -> (id: ActionID, key: IDKey)? {
        guard case .success(let action) = arrival.reading, action.idKey != .assigned else { return nil }
        return (action.id, action.idKey)
    }

    // MARK: - Any thread

    /// Waits until every message is settled.
    func settled() async {
        let allSettled = state.withLock { state -> Promise<Void>? in
            if unsettled > 0 && state.allSettled == nil { state.allSettled = Promise() }
            return state.allSettled
        }
        await allSettled?.value()
    }

    /// The number of unsettled messages.
    var unsettled: Int { count.load(ordering: .acquiring) }

    /// Does nothing, because WebSockets have no acknowledgements.
    func mayAcknowledge(_ token: UInt64) {}

    /// Answers that the message is accepted. Its connection goes on reading, as the outcome may come much later.
    func accepted(_ token: UInt64) {
        let slot = state.withLock { state -> Slot? in
            guard let index = expectedIndex(of: token, state) else { return nil }
            defer { state.slots[index].flow = nil }
            return state.slots[index]
        }
        guard let slot, let flow = slot.flow else { return }
        if let (chat, id, key) = slot.answer { try? chat.answer(AnswerWriter.accepted(id, key)) }
        flow.settle()
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        var slot = Slot()
        guard take(token, into: &slot) else { return }
        // The sender of a message that stays in the journal knows already that it is accepted.
        if case .abandoned(.kept) = outcome { slot.answer = nil }
        if let (chat, id, key) = slot.answer {
            // A peer that has disconnected or reads too slowly cannot receive the answer.
            try? chat.answer(AnswerWriter.answer(id, key, outcome, to: "connection"))
        }
        slot.flow?.settle()
        finish()
    }

    private func take(_ token: UInt64, into taken: inout Slot) -> Bool {
        state.withLock { state in
            guard let index = expectedIndex(of: token, state) else { return false }
            taken.uses = state.slots[index].uses &+ 1
            swap(&taken, &state.slots[index])
            state.free.append(UInt32(truncatingIfNeeded: index))
            return true
        }
    }

    /// Returns the position of a message's slot, or `nil` if the message is settled.
    private func expectedIndex(of token: UInt64, _ state: borrowing State) -> Int? {
        let index = Int(UInt32(truncatingIfNeeded: token))
        let uses = UInt32(truncatingIfNeeded: token >> 32)
        guard index < state.slots.count, state.slots[index].isExpected, state.slots[index].uses == uses else {
            return nil
        }
        return index
    }

    // Runs after the answer has been queued. A task that waits for the last outcome can therefore rely on the answer
    // being sent.
    private func finish() {
        guard count.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
        let allSettled = state.withLock { state -> Promise<Void>? in
            // In the meantime, more messages may have been read, and another task may be waiting for them.
            guard unsettled == 0 else { return nil }
            defer { state.allSettled = nil }
            return state.allSettled
        }
        allSettled?.set(())
    }
}

/// Decodes the id of an invalid action, such as one with an invalid name, because its sender expects an answer.
struct RefusedMessage: Decodable {
    private let id: String?
    private let uuid: String?
    /// The outcome in a message that is itself an answer. Such a message must not be answered, or two sources would
    /// keep answering each other.
    private let outcome: RawBody?

    private var name: (id: ActionID, key: IDKey)? {
        guard outcome == nil else { return nil }
        if let id { return ActionID(id).map { ($0, .id) } }
        return uuid.flatMap(ActionID.init).map { ($0, .uuid) }
    }

    /// Returns the ids of the arrivals that cannot be read, by position.
    static func names(in arrivals: [Arrival]) -> [Int: (id: ActionID, key: IDKey)] {
        var names: [Int: (id: ActionID, key: IDKey)] = [:]
        for (index, arrival) in arrivals.enumerated() where arrival.envelope == .standard {
            guard case .failure = arrival.reading else { continue }
            names[index] = (try? Body(json: arrival.original).decode(RefusedMessage.self))?.name
        }
        return names
    }
}
