import DequeModule

/// The messages that wait for a page, in order. Withdrawing a call takes constant time on average.
struct PageQueue: Sendable {
    /// The waiting messages. A call that was withdrawn leaves a gap.
    private var places = Deque<PageMessage?>()
    /// The position of each waiting call, counted from the first message ever.
    private var calls: [UInt64: Int] = [:]
    /// The position of the first place.
    private var start = 0
    /// The number of waiting messages.
    private(set) var count = 0
    /// The number of places that withdrawals have visited so far.
    private(set) var visited = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ message: PageMessage) {
        if message.number != 0 { calls[message.number] = start + places.count }
        places.append(message)
        count += 1
    }

    /// Removes a call if it is waiting.
    mutating func withdraw(_ number: UInt64) {
        guard let position = calls.removeValue(forKey: number) else { return }
        places[position - start] = nil
        count -= 1
        visited += 1
        if places.count > 2 * count + 64 { closeGaps { _ in true } }
    }

    /// Removes all calls, and returns their numbers in order.
    mutating func withdrawCalls() -> [UInt64] {
        let numbers = places.compactMap { $0.flatMap { $0.number == 0 ? nil : $0.number } }
        closeGaps { $0.number == 0 }
        return numbers
    }

    /// Keeps the matching messages, without gaps.
    private mutating func closeGaps(keeping isKept: (PageMessage) -> Bool) {
        visited += places.count
        let kept = places.compactMap { $0 }.filter(isKept)
        (places, calls, count) = (Deque(), [:], 0)
        for message in kept { append(message) }
    }

    /// Removes messages from the front, with a total size of at most `bytes`. If the first message is larger than that, it
    /// is taken alone.
    mutating func take(atMost limit: Int, bytes: Int) -> [PageMessage] {
        var taken: [PageMessage] = []
        var left = bytes
        while taken.count < limit, let place = places.first {
            if let message = place {
                guard message.body.count <= left || taken.isEmpty else { break }
                left -= min(left, message.body.count)
                if message.number != 0 { calls[message.number] = nil }
                taken.append(message)
            }
            places.removeFirst()
            start += 1
        }
        count -= taken.count
        return taken
    }
}
