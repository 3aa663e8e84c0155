import DequeModule

extension Deque {
    /// Takes up to `count` elements from the front, with a total size of at most `bytes`. If the first element is
    /// larger than that, it is taken alone.
    mutating func take(atMost count: Int, bytes: Int, size: (Element) -> Int) -> [Element] {
        var taken: [Element] = []
        var left = bytes
        while taken.count < count, let next = first {
            let size = size(next)
            guard size <= left || taken.isEmpty else { break }
            left -= Swift.min(left, size)
            taken.append(next)
            removeFirst()
        }
        return taken
    }
}
