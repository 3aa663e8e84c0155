/// A first-in, first-out queue. Taking elements from the front is amortized constant time per element.
struct Fifo<Element> {
    private var elements: [Element] = []
    /// The number of elements taken from the front.
    private var taken = 0

    var count: Int { elements.count - taken }
    var isEmpty: Bool { count == 0 }

    /// The waiting elements, in order.
    var all: ArraySlice<Element> { elements[taken...] }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    mutating func removeAll(where isUnwanted: (Element) -> Bool) {
        drop(to: taken, atOnce: true)
        elements.removeAll(where: isUnwanted)
    }

    /// Takes up to `count` elements with at most `bytes` bytes together, or the first one alone if it is larger.
    mutating func take(atMost count: Int, bytes: Int, size: (Element) -> Int) -> [Element] {
        var end = taken
        var left = bytes
        while end < elements.count, end - taken < count {
            let size = size(elements[end])
            guard size <= left || end == taken else { break }
            left -= min(left, size)
            end += 1
        }
        defer { drop(to: end) }
        return Array(elements[taken..<end])
    }

    private mutating func drop(to end: Int, atOnce: Bool = false) {
        taken = end
        guard atOnce || taken * 2 >= elements.count else { return }
        elements.removeFirst(taken)
        taken = 0
    }
}

extension Fifo: Sendable where Element: Sendable {}
