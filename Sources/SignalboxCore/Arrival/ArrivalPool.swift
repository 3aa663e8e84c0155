import Synchronization

/// Keeps the buffers of released batches for the next ones, so that a steady stream of messages allocates no memory.
///
/// Bounded: at most `maximumKept` sets of buffers, none larger than `maximumBytes`; what is over is freed. Safe on any
/// thread.
public final class ArrivalPool: Sendable {
    private let kept = Mutex<[BatchBuffers]>([])
    private let maximumKept: Int
    private let maximumBytes: Int

    /// - Parameters:
    ///   - maximumKept: how many sets of buffers wait for reuse, at least 0.
    ///   - maximumBytes: the largest set that is kept, in bytes of memory.
    public init(maximumKept: Int = 4, maximumBytes: Int = 4 * 1024 * 1024) {
        self.maximumKept = maximumKept
        self.maximumBytes = maximumBytes
    }

    package func take() -> BatchBuffers {
        guard var buffers = kept.withLock({ $0.popLast() }) else { return BatchBuffers() }
        buffers.clear()
        return buffers
    }

    func giveBack(_ buffers: consuming BatchBuffers) {
        guard buffers.footprint <= maximumBytes else { return }
        let returned = buffers
        kept.withLock { kept in
            if kept.count < maximumKept { kept.append(returned) }
        }
    }
}
