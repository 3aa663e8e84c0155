import Synchronization

/// The orders for a service's thread that it has not seen yet. Any thread.
final class FeedInbox: Sendable {
    private struct State {
        var orders: [FeedOrder] = []
        var isClosed = false
    }

    private let state = Mutex(State())

    /// - Returns: whether the order was taken; not when the thread has ended.
    func append(_ order: FeedOrder) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.orders.append(order)
            return true
        }
    }

    func take() -> [FeedOrder] {
        state.withLock { state in
            defer { state.orders = [] }
            return state.orders
        }
    }

    /// Takes nothing more.
    ///
    /// - Returns: what nobody will see.
    func close() -> [FeedOrder] {
        state.withLock { state in
            state.isClosed = true
            defer { state.orders = [] }
            return state.orders
        }
    }
}
