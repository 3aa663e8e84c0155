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

    /// The list, once the condition holds; what there is of it when the task is cancelled, as by a test's time limit.
    package func wait(
        file: StaticString = #fileID,
        line: UInt = #line,
        until isSatisfied: @escaping @Sendable ([Element]) -> Bool
    ) async -> [Element] {
        await elements.until(file: file, line: line, isSatisfied)
        return all
    }

    /// The first `count` elements; fewer when the task is cancelled.
    package func first(_ count: Int, file: StaticString = #fileID, line: UInt = #line) async -> [Element] {
        Array(await wait(file: file, line: line) { $0.count >= count }.prefix(count))
    }
}
