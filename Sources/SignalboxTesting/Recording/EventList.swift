/// A list that grows while a test waits for what it wants to see in it.
package final class EventList<Element: Sendable>: Sendable {
    private let elements = Watched<[Element]>([])

    package init() {}

    package var all: [Element] { elements.value }

    package func append(_ new: Element) {
        elements.change { $0.append(new) }
    }

    package func append(contentsOf new: some Collection<Element> & Sendable) {
        elements.change { $0 += new }
    }

    /// The list, once the condition holds.
    package func wait(until isSatisfied: @escaping @Sendable ([Element]) -> Bool) async -> [Element] {
        await elements.untilUncancelled(isSatisfied)
        return all
    }

    /// The first `count` elements.
    package func first(_ count: Int) async -> [Element] {
        Array(await wait { $0.count >= count }.prefix(count))
    }
}
