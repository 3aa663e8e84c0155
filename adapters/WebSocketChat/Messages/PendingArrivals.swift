import SignalboxCore

/// Arrivals that were read and not taken yet, in order. Belongs to the service's thread.
///
/// They stay in the batches they came in, so that handing over a part never moves what waits behind it.
struct PendingArrivals {
    private var batches: [[Arrival]] = []
    private var first = 0
    private(set) var count = 0

    /// The next to be handed over; empty when there are none.
    var front: [Arrival] { first < batches.count ? batches[first] : [] }

    mutating func append(_ batch: [Arrival]) {
        guard !batch.isEmpty else { return }
        batches.append(batch)
        count += batch.count
    }

    /// Takes so many from the front: at most as many as ``front`` has.
    mutating func removeFirst(_ taken: Int) {
        guard taken > 0, first < batches.count else { return }
        count -= taken
        guard taken == batches[first].count else {
            batches[first].removeFirst(taken)
            return
        }
        batches[first] = []
        first += 1
        if first == batches.count {
            batches.removeAll(keepingCapacity: first <= 64)
            first = 0
        } else if first >= 64 && first * 2 >= batches.count {
            batches.removeFirst(first)
            first = 0
        }
    }

    /// Takes all.
    mutating func removeAll() -> [Arrival] {
        defer { self = PendingArrivals() }
        return batches[first...].flatMap { $0 }
    }
}
