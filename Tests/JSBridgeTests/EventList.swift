import Synchronization

/// A list that grows while a test waits for what it wants to see in it.
final class EventList<Element: Sendable>: Sendable {
    private struct Waiter {
        let isSatisfied: @Sendable ([Element]) -> Bool
        let continuation: CheckedContinuation<[Element], Never>
    }

    private struct State {
        var elements: [Element] = []
        var waiters: [Waiter] = []
    }

    private let state = Mutex(State())

    var all: [Element] { state.withLock { $0.elements } }

    func append(contentsOf new: some Collection<Element>) {
        let ready = state.withLock { state -> [(Waiter, [Element])] in
            state.elements += new
            let elements = state.elements
            let ready = state.waiters.filter { $0.isSatisfied(elements) }
            state.waiters.removeAll { $0.isSatisfied(elements) }
            return ready.map { ($0, elements) }
        }
        for (waiter, elements) in ready { waiter.continuation.resume(returning: elements) }
    }

    /// The list as it was when the condition first held.
    func wait(until isSatisfied: @escaping @Sendable ([Element]) -> Bool) async -> [Element] {
        await withCheckedContinuation { continuation in
            let now = state.withLock { state -> [Element]? in
                guard !isSatisfied(state.elements) else { return state.elements }
                state.waiters.append(Waiter(isSatisfied: isSatisfied, continuation: continuation))
                return nil
            }
            if let now { continuation.resume(returning: now) }
        }
    }

    /// The first `count` elements.
    func first(_ count: Int) async -> [Element] {
        Array(await wait { $0.count >= count }.prefix(count))
    }
}
