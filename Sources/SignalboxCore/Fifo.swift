/// A first-in, first-out queue that also accepts elements at its front. Appending and taking an element are amortized
/// constant time.
///
/// The members are inlinable, because other modules use the queue for each action and need it specialized.
package struct Fifo<Element> {
    /// Removed elements are `nil` until the array is compacted, which frees their memory at once.
    @usableFromInline var elements: [Element?] = []
    @usableFromInline var first = 0

    /// Creates an empty queue.
    @inlinable
    package init() {}

    /// The number of elements.
    @inlinable package var count: Int { elements.count - first }

    /// Whether the queue has no elements.
    @inlinable package var isEmpty: Bool { first == elements.count }

    /// The elements, oldest first.
    @inlinable package var all: [Element] { elements[first...].compactMap { $0 } }

    /// The oldest element, or `nil` if the queue is empty.
    @inlinable package var front: Element? { isEmpty ? nil : elements[first] }

    /// Changes the oldest element in place.
    ///
    /// - Returns: The result of the closure, or `nil` if the queue is empty.
    @inlinable
    package mutating func updateFront<Result>(_ change: (inout Element) -> Result) -> Result? {
        guard !isEmpty, elements[first] != nil else { return nil }
        return change(&elements[first]!)
    }

    /// Adds an element behind the others.
    @inlinable
    package mutating func append(_ element: Element) {
        elements.append(element)
    }

    /// Adds an element before the others. This takes linear time if no element has been taken since the last
    /// compaction.
    @inlinable
    package mutating func prepend(_ element: Element) {
        guard first > 0 else { return elements.insert(element, at: 0) }
        first -= 1
        elements[first] = element
    }

    /// Removes and returns the oldest element, or returns `nil` if the queue is empty.
    @inlinable
    package mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[first]
        elements[first] = nil
        first += 1
        if isEmpty {
            elements.removeAll(keepingCapacity: true)
            first = 0
        } else if first >= 64, first * 2 > elements.count {
            elements.removeFirst(first)
            first = 0
        }
        return element
    }

    /// Removes the elements that match, or all elements, and returns them in order.
    @inlinable
    @discardableResult
    package mutating func removeAll(where isMeant: (Element) -> Bool = { _ in true }) -> [Element] {
        // Most searches find nothing, so they must not copy the queue.
        guard elements[first...].contains(where: { $0.map(isMeant) ?? false }) else { return [] }
        let all = all
        self = Fifo()
        elements = all.filter { !isMeant($0) }
        return all.filter(isMeant)
    }

    /// Frees the memory of an empty queue that has room for more than `capacity` elements.
    @inlinable
    package mutating func releaseMemory(above capacity: Int) {
        if isEmpty, elements.capacity > capacity { self = Fifo() }
    }
}

extension Fifo: Sendable where Element: Sendable {}
