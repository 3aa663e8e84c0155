import SignalboxCore

extension Fifo {
    /// Takes up to `count` elements with at most `bytes` bytes together, or the first one alone if it is larger.
    mutating func take(atMost count: Int, bytes: Int, size: (Element) -> Int) -> [Element] {
        var taken: [Element] = []
        var left = bytes
        while taken.count < count, let next = front {
            let size = size(next)
            guard size <= left || taken.isEmpty else { break }
            left -= min(left, size)
            taken.append(next)
            _ = popFirst()
        }
        return taken
    }
}
