import Dispatch
import Foundation
import SignalboxCore
import Synchronization

/// Takes a millisecond for each batch, as a plugin does that makes its actions durable together.
final class CommitPlugin: BatchPlugin {
    let action: ActionName
    private let meter: Meter
    private let calls = Atomic<Int>(0)
    /// A thread waits, as for a disk, and no task does.
    private let disk = DispatchQueue(label: "disk")

    init(action: ActionName, meter: Meter) {
        self.action = action
        self.meter = meter
    }

    func callAsActions(_ batch: [(info: Payment, context: ActionContext)]) async throws {
        meter.begin()
        calls.add(1, ordering: .relaxed)
        await withCheckedContinuation { done in
            disk.async {
                usleep(1_000)
                done.resume()
            }
        }
        _ = meter.count(batch.count)
    }

    /// Prints how many batches there were.
    func show() {
        print(calls.load(ordering: .relaxed))
        fflush(nil)
    }
}
