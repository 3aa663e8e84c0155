import SignalboxCore
import Synchronization

/// The calls of one plugin for one source: one at a time, in the order of arrival.
///
/// One task per lane works through what waits; it lives as long as the lane. The timer never waits for it: a call that is
/// overdue is settled without it, and the lane is stalled until the plugin returns.
final class Lane: Sendable {
    let entry: PluginEntry
    let intake: SourceIntake
    let limits: LaneLimits
    /// A ``CallWord``. The task writes it without the lock; the timer changes it under the lock.
    let call = Atomic<UInt64>(0)
    let queue: Mutex<LaneQueue>

    init(entry: PluginEntry, intake: SourceIntake, limits: LaneLimits) {
        self.entry = entry
        self.intake = intake
        self.limits = limits
        queue = Mutex(LaneQueue(callsWholeRuns: entry.call.takesWholeRuns))
    }

    /// Whether a call that was settled without waiting for it has not returned yet.
    var isStalled: Bool { queue.withLock { $0.isStalled } }

    /// Adds a run. Gives it back when the lane is stalled: what waits there is unavailable.
    func enqueue(_ run: LaneRun) -> LaneVerdict? {
        let (parked, verdict) = queue.withLock { queue -> (UnsafeContinuation<LaneRun?, Never>?, LaneVerdict?) in
            guard !queue.isStalled else {
                queue.unreported += run.range.count
                return (nil, LaneVerdict(run: run, outcome: unavailable))
            }
            guard let parked = queue.parked else {
                queue.append(run)
                return (nil, nil)
            }
            queue.parked = nil
            queue.start(run, call: nextCall)
            return (parked, nil)
        }
        parked?.resume(returning: run)
        return verdict
    }

    /// Ends the lane's task once the queue is empty.
    func close() {
        let parked = queue.withLock { queue in
            defer { queue.parked = nil }
            queue.isClosed = true
            return queue.parked
        }
        parked?.resume(returning: nil)
    }

    /// The number of the call that the task begins next. Known to the task, and to others while the task is parked.
    var nextCall: UInt64 { CallWord(rawValue: call.load(ordering: .acquiring)).number + 1 }

    var unavailable: Outcome {
        .rejected(
            Outcome.Rejection(.unavailable, detail: "an earlier call of plugin \(entry.action) has not returned")
        )
    }
}
