/// Things that wait, first in first out. Taking some of many costs nothing for those that stay.
struct WaitingLine<Element> {
    private var elements: [Element] = []
    /// How many at the front were taken.
    private var taken = 0

    var count: Int { elements.count - taken }
    var isEmpty: Bool { count == 0 }

    /// Those that wait, in order.
    var all: ArraySlice<Element> { elements[taken...] }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    mutating func removeAll(where isUnwanted: (Element) -> Bool) {
        drop(to: taken, atOnce: true)
        elements.removeAll(where: isUnwanted)
    }

    /// Those at the front, at most `count`, with at most so many bytes together; the first also when it alone has more.
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

extension WaitingLine: Sendable where Element: Sendable {}
