import Synchronization

/// Counts one source's unsettled arrivals and their bytes. Arrivals are counted under the intake's lock and can be
/// released on any thread.
struct Window: ~Copyable {
    let limits: WindowLimits
    /// The number of arrivals in the upper 24 bits and the number of bytes in the lower 40. A single atomic operation
    /// therefore updates both.
    private let used = Atomic<UInt64>(0)
    private static let bytesMask: UInt64 = (1 << 40) - 1

    /// The number of arrivals and the number of bytes, read at the same moment.
    var use: WindowUse {
        let used = used.load(ordering: .relaxed)
        return WindowUse(arrivals: Int(used >> 40), bytes: Int(used & Window.bytesMask))
    }

    var isEmpty: Bool { used.load(ordering: .sequentiallyConsistent) == 0 }

    var hasRoom: Bool {
        let used = used.load(ordering: .sequentiallyConsistent)
        return Window.hasQuarter(of: limits.arrivals, besides: Int(used >> 40))
            && Window.hasQuarter(of: limits.bytes, besides: Int(used & Window.bytesMask))
    }

    /// Returns how many of the lengths fit, starting with the first, and counts those as used. Must not be called
    /// concurrently.
    func take<Lengths: Sequence<Int>>(_ lengths: Lengths) -> Int {
        let before = used.load(ordering: .acquiring)
        var count = Int(before >> 40)
        var bytes = Int(before & Window.bytesMask)
        var taken = 0
        var takenBytes = 0
        for length in lengths {
            // If `room()` would return, a single arrival may exceed the byte limit. Otherwise, its adapter would keep
            // retrying in vain.
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

    private static func hasQuarter(of limit: Int, besides used: Int) -> Bool {
        used <= limit - max(1, limit / 4)
    }
}

/// How much work from one source is inside a supervisor, from submission to settlement.
public struct WindowUse: Sendable, Hashable {
    /// The number of arrivals.
    public let arrivals: Int
    /// The total size of the arrivals' original messages, in bytes.
    public let bytes: Int

    /// Adds both values. A removed source may still have unsettled arrivals when a new source takes its name, and the
    /// report shows one value for the two.
    static func + (one: Self, other: Self) -> Self {
        Self(arrivals: one.arrivals + other.arrivals, bytes: one.bytes + other.bytes)
    }
}
