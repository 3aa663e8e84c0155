import AdapterThreads
import SignalboxCore
import Synchronization

/// Hears what became of the messages of one batch after the other, and wakes the thread when the batch is done.
///
/// A token is the batch's generation and the message's place in it: a settlement that comes after the next batch began,
/// as journalled arrivals' do, is told apart. One object per run of an adapter.
final class BatchSink: SettlementSink {
    private enum Mark: UInt8 { case waiting, acknowledged, abandoned }

    private struct State {
        var generation: UInt32 = 0
        var marks: [Mark] = []
        var heard = 0
        var abandoned = 0
        var taken: Int?

        var isDone: Bool { heard == taken }
    }

    private let state = Mutex(State())
    private let wake: WakeSignal
    private let replies: ReplyDesk?

    /// - Parameter replies: answers the requests among the messages; `nil` where nothing is answered.
    init(wake: WakeSignal, replies: ReplyDesk? = nil) {
        self.wake = wake
        self.replies = replies
    }

    static func token(generation: UInt32, index: Int) -> UInt64 {
        UInt64(generation) << 32 | UInt64(UInt32(truncatingIfNeeded: index))
    }

    /// Hears of a batch's requests before it is submitted.
    func expectReplies(_ batch: [Arrival]) {
        replies?.expect(batch, of: self)
    }

    /// These were never submitted.
    func forgetReplies(_ batch: ArraySlice<Arrival>) {
        replies?.forget(batch, of: self)
    }

    /// Begins with the settlements of a batch; those of earlier ones are ignored from now on.
    func begin(generation: UInt32, count: Int) {
        state.withLock { state in
            state.generation = generation
            state.marks.removeAll(keepingCapacity: true)
            state.marks.append(contentsOf: repeatElement(.waiting, count: count))
            state.heard = 0
            state.abandoned = 0
            state.taken = nil
        }
    }

    /// Says how many of the batch were submitted in the end; before that the batch cannot be done.
    func finishSubmitting(taken: Int) {
        state.withLock { $0.taken = taken }
    }

    /// Whether every message taken may be acknowledged or was abandoned.
    var isDone: Bool { state.withLock { $0.isDone } }

    /// How many messages of the batch were abandoned so far.
    var abandoned: Int { state.withLock { $0.abandoned } }

    func mayAcknowledge(_ token: UInt64) {
        mark(token, .acknowledged)
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        replies?.settle(token, of: self, outcome)
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
            state.heard += 1
            if mark == .abandoned { state.abandoned += 1 }
            return state.isDone
        }
        if isDone { wake.wake() }
    }
}

/// Decides how many messages the next batch may have, so that a slow plugin is never given more than it can settle
/// within the hold limit.
///
/// One message after each connect; twice as many when a full batch was held for less than an eighth of the hold limit;
/// half as many when one was held for longer than half of it.
struct BatchSizing: Equatable {
    /// The most messages the next batch may have.
    private(set) var target = 1
    private let bound: Int
    private let holdLimit: Duration

    init(bound: Int, holdLimit: Duration) {
        self.bound = bound
        self.holdLimit = holdLimit
    }

    mutating func connected() {
        target = 1
    }

    /// A batch of `count` messages was settled after `duration`.
    mutating func held(_ count: Int, for duration: Duration) {
        if duration > holdLimit / 2 {
            target = max(1, min(target, count) / 2)
        } else if duration < holdLimit / 8 && count >= target {
            target = min(bound, target * 2)
        }
    }
}
