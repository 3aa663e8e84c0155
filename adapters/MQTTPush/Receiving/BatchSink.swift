import AdapterSupport
import SignalboxCore
import Synchronization

/// Collects the outcomes of one batch at a time, and wakes the loop thread when all messages are settled.
///
/// Each receive loop has one sink. A token combines the batch's generation with the message's index. The generation
/// lets the sink recognize a journalled arrival that is settled after the next batch has started.
final class BatchSink: SettlementSink {
    private enum Mark: UInt8 { case waiting, acknowledged, abandoned }

    private struct State {
        var generation: UInt32 = 0
        var marks: [Mark] = []
        var settled = 0
        var abandoned = 0
        var taken: Int?

        var isDone: Bool { settled == taken }
    }

    private let state = Mutex(State())
    private let wake: WakeSignal
    private let responder: Responder?

    /// - Parameter responder: The responder that replies to the requests among the messages, or `nil` if the source
    ///   does not answer requests.
    init(wake: WakeSignal, responder: Responder? = nil) {
        self.wake = wake
        self.responder = responder
    }

    static func token(generation: UInt32, index: Int) -> UInt64 {
        UInt64(generation) << 32 | UInt64(UInt32(truncatingIfNeeded: index))
    }

    /// Registers a batch's requests before the batch is submitted.
    func registerRequests(_ batch: [Arrival]) {
        responder?.register(batch, for: self)
    }

    /// Removes the requests among arrivals that were never submitted.
    func unregisterRequests(_ batch: ArraySlice<Arrival>) {
        responder?.unregister(batch, for: self)
    }

    /// Begins a batch. After this call, settlements of earlier batches are ignored.
    func begin(generation: UInt32, count: Int) {
        state.withLock { state in
            state.generation = generation
            state.marks.removeAll(keepingCapacity: true)
            state.marks.append(contentsOf: repeatElement(.waiting, count: count))
            state.settled = 0
            state.abandoned = 0
            state.taken = nil
        }
    }

    /// Sets how many of the batch's messages were submitted. Before this call, the batch is never done.
    func finishSubmitting(taken: Int) {
        state.withLock { $0.taken = taken }
    }

    /// Whether every submitted message either may be acknowledged or was abandoned.
    var isDone: Bool { state.withLock { $0.isDone } }

    /// The number of messages in the batch that have been abandoned so far.
    var abandoned: Int { state.withLock { $0.abandoned } }

    func mayAcknowledge(_ token: UInt64) {
        mark(token, .acknowledged)
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        responder?.settle(token, for: self, outcome)
        if case .abandoned = outcome {
            mark(token, .abandoned)
        } else {
            mark(token, .acknowledged)
        }
    }

    private func mark(_ token: UInt64, _ mark: Mark) {
        let isDone = state.withLock { state in
            let index = Int(UInt32(truncatingIfNeeded: token))
            guard UInt32(truncatingIfNeeded: token >> 32) == state.generation, index < state.marks.count,
                state.marks[index] == .waiting
            else { return false }
            state.marks[index] = mark
            state.settled += 1
            if mark == .abandoned { state.abandoned += 1 }
            return state.isDone
        }
        if isDone { wake.wake() }
    }
}

/// Chooses the size of the next batch, so that a slow plugin is not given more messages than it can settle within the
/// ack deadline.
///
/// On a new connection, the size is one message. The size doubles when a full batch is settled within an eighth of the
/// ack deadline, and it halves when a batch takes more than half of the deadline.
struct BatchSizing: Equatable {
    /// The maximum number of messages in the next batch.
    private(set) var target = 1
    private let bound: Int
    private let ackDeadline: Duration

    init(bound: Int, ackDeadline: Duration) {
        self.bound = bound
        self.ackDeadline = ackDeadline
    }

    mutating func reset() {
        target = 1
    }

    /// Adapts to a batch of `count` messages that was settled after `duration`.
    mutating func settled(_ count: Int, after duration: Duration) {
        if duration > ackDeadline / 2 {
            target = max(1, min(target, count) / 2)
        } else if duration < ackDeadline / 8 && count >= target {
            target = min(bound, target * 2)
        }
    }
}
