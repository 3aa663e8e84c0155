import Synchronization

/// What of a feed can be looked at while it runs, and outlasts its runs. Any thread.
final class FeedState: Sendable {
    private struct State {
        var isRunning = false
        var connection: ChatConnection?
        var counts = WebSocketFeedCounts()
    }

    let hub: ChatHub
    private let state = Mutex(State())

    init(_ configuration: WebSocketFeedConfiguration) {
        var limits = ChatHub.Limits()
        limits.waitingBytes = configuration.waitingBytes
        limits.closesSlowReaders = false
        hub = ChatHub(limits)
    }

    var connection: ChatConnection? { state.withLock { $0.connection } }
    var counts: WebSocketFeedCounts { state.withLock { $0.counts } }

    /// - Returns: whether there was no run.
    func begin() -> Bool {
        state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
    }

    func end() {
        state.withLock { $0.isRunning = false }
    }

    /// From now on the connection can be spoken to.
    func opened(_ connection: ChatConnection) {
        hub.opened(connection.number)
        state.withLock { state in
            state.connection = connection
            state.counts.connections += 1
        }
    }

    func closed(_ connection: ChatConnection) {
        hub.closed(connection.number)
        state.withLock { $0.connection = nil }
    }

    func count(_ change: (inout WebSocketFeedCounts) -> Void) {
        state.withLock { change(&$0.counts) }
    }
}
