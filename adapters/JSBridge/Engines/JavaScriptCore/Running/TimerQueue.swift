/// Which timer is due next: the earliest, and of two due at the same time the one that was set first. Pure: the caller
/// says what time it is.
struct TimerQueue {
    typealias Instant = ContinuousClock.Instant

    private struct Entry {
        let due: Instant
        let serial: UInt64
        let id: Int
    }

    /// A heap: no entry is earlier than the one at half its index. Cancelled entries stay until they come up, or until
    /// they are the most.
    private var heap: [Entry] = []
    private var live: [Int: UInt64] = [:]
    private var serial: UInt64 = 0

    var isEmpty: Bool { live.isEmpty }

    /// When the next timer is due.
    mutating func nextDue() -> Instant? {
        dropCancelled()
        return heap.first?.due
    }

    /// Sets a timer, in place of one with the same id.
    mutating func schedule(_ id: Int, due: Instant) {
        serial += 1
        live[id] = serial
        heap.append(Entry(due: due, serial: serial, id: id))
        rise(from: heap.count - 1)
        if heap.count > 64 + 2 * live.count { compact() }
    }

    mutating func cancel(_ id: Int) {
        live[id] = nil
    }

    /// Takes the next timer that is due at `now` and was set at or before `last`, so that a timer set by another one
    /// waits for the next round.
    mutating func take(dueAt now: Instant, setBy last: UInt64) -> Int? {
        dropCancelled()
        guard let first = heap.first, first.due <= now, first.serial <= last else { return nil }
        removeFirst()
        live[first.id] = nil
        return first.id
    }

    /// The timers set so far.
    var lastSerial: UInt64 { serial }

    private mutating func dropCancelled() {
        while let first = heap.first, live[first.id] != first.serial { removeFirst() }
    }

    private mutating func compact() {
        let kept = heap.filter { live[$0.id] == $0.serial }
        heap = kept.sorted(by: TimerQueue.isEarlier)
    }

    private static func isEarlier(_ left: Entry, _ right: Entry) -> Bool {
        (left.due, left.serial) < (right.due, right.serial)
    }

    private mutating func rise(from start: Int) {
        var index = start
        while index > 0 {
            let above = (index - 1) / 2
            guard TimerQueue.isEarlier(heap[index], heap[above]) else { return }
            heap.swapAt(index, above)
            index = above
        }
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var index = 0
        while true {
            var earliest = index
            for below in [2 * index + 1, 2 * index + 2] where below < heap.count {
                if TimerQueue.isEarlier(heap[below], heap[earliest]) { earliest = below }
            }
            guard earliest != index else { return }
            heap.swapAt(index, earliest)
            index = earliest
        }
    }
}
