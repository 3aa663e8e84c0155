import Synchronization

/// The count of what a source has inside the supervisor. Taken from under the intake's lock, released on any thread.
struct Window: ~Copyable {
    let limits: WindowLimits
    /// Arrivals in the upper 24 bits, bytes in the lower 40: one atomic step for both.
    private let used = Atomic<UInt64>(0)
    private static let bytesMask: UInt64 = (1 << 40) - 1

    init(limits: WindowLimits) {
        self.limits = limits
    }

    /// The number of arrivals inside.
    var count: Int { Int(used.load(ordering: .sequentiallyConsistent) >> 40) }

    /// Both, as they were at the same moment.
    var use: WindowUse {
        let used = used.load(ordering: .relaxed)
        return WindowUse(arrivals: Int(used >> 40), bytes: Int(used & Window.bytesMask))
    }

    var isEmpty: Bool { used.load(ordering: .sequentiallyConsistent) == 0 }

    var hasRoom: Bool { Window.isQuarterFree(used.load(ordering: .sequentiallyConsistent), of: limits) }

    /// How many from the front of lengths fit; they are counted as inside. One caller at a time.
    func take<Lengths: Sequence<Int>>(_ lengths: Lengths) -> Int {
        let before = used.load(ordering: .acquiring)
        var count = Int(before >> 40)
        var bytes = Int(before & Window.bytesMask)
        var taken = 0
        var takenBytes = 0
        for length in lengths {
            // One arrival may reach over the bytes as long as room() would return: else an adapter would ask in vain.
            guard count < limits.arrivals else { break }
            guard bytes + length <= limits.bytes || Window.hasQuarter(of: limits.bytes, besides: bytes) else { break }
            count += 1
            bytes += length
            taken += 1
            takenBytes += length
        }
        used.wrappingAdd(Window.word(taken, takenBytes), ordering: .acquiringAndReleasing)
        return taken
    }

    func release(arrivals: Int, bytes: Int) {
        used.wrappingSubtract(Window.word(arrivals, bytes), ordering: .sequentiallyConsistent)
    }

    private static func word(_ arrivals: Int, _ bytes: Int) -> UInt64 {
        UInt64(arrivals) << 40 + UInt64(bytes)
    }

    private static func isQuarterFree(_ used: UInt64, of limits: WindowLimits) -> Bool {
        hasQuarter(of: limits.arrivals, besides: Int(used >> 40))
            && hasQuarter(of: limits.bytes, besides: Int(used & bytesMask))
    }

    private static func hasQuarter(of limit: Int, besides used: Int) -> Bool {
        used <= limit - max(1, limit / 4)
    }
}

/// How much of one source is inside a supervisor: taken and not yet settled.
public struct WindowUse: Sendable, Hashable {
    /// The arrivals.
    public let arrivals: Int
    /// The bytes of their originals.
    public let bytes: Int

    /// A source that was removed may still have arrivals inside while one of its name is there again.
    static func + (one: Self, other: Self) -> Self {
        Self(arrivals: one.arrivals + other.arrivals, bytes: one.bytes + other.bytes)
    }
}

/// Why somebody waits for a source's window to empty: each gives up on its own.
enum EmptyWait: Sendable {
    /// The end of the run.
    case drain
    /// The removal of the source, which does not wait for a call that goes on, while a drain does.
    case removal
}

/// Somebody who waits for a source's window to empty.
struct EmptyWaiter: Sendable {
    let wait: EmptyWait
    let continuation: UnsafeContinuation<Void, Never>
}
