import Synchronization

/// How many of a connection's messages have no outcome, and whether it is therefore read. Any thread.
///
/// Commands are given under the lock, so that the transport carries them out in the order of the states they follow from.
final class ConnectionFlow: Sendable {
    private struct State {
        var unsettled = 0
        var reasons: PauseReasons = []
    }

    let connection: ConnectionID
    private let window: Int
    private let transport: any FrameSender
    private let state = Mutex(State())

    /// - Parameter window: how many messages may be without an outcome until the connection is paused.
    init(_ connection: ConnectionID, window: Int, transport: any FrameSender) {
        self.connection = connection
        self.window = window
        self.transport = transport
    }

    var isPaused: Bool { state.withLock { !$0.reasons.isEmpty } }

    /// Counts messages. Whoever brought them must not read on while ``isPaused``: this gives no command.
    func add(_ count: Int) {
        state.withLock { state in
            state.unsettled += count
            if state.unsettled >= window { state.reasons.insert(.window) }
        }
    }

    /// Counts a message of our own, after which nobody's verdict says whether to read on: gives the command itself.
    func addOwn() {
        state.withLock { state in
            let wasRead = state.reasons.isEmpty
            state.unsettled += 1
            guard state.unsettled >= window else { return }
            state.reasons.insert(.window)
            if wasRead { transport.perform(.pause, on: connection) }
        }
    }

    /// Counts an outcome. Reading begins again when half the window is free, so that it does not begin for each message.
    func settle() {
        state.withLock { state in
            state.unsettled -= 1
            if state.unsettled <= window / 2 { remove(.window, from: &state) }
        }
    }

    /// Gives the command where the connection was read until now.
    func pause(_ reason: PauseReasons) {
        state.withLock { state in
            let wasRead = state.reasons.isEmpty
            state.reasons.insert(reason)
            if wasRead { transport.perform(.pause, on: connection) }
        }
    }

    /// Gives the command where nothing else keeps the connection from being read.
    func unpause(_ reason: PauseReasons) {
        state.withLock { remove(reason, from: &$0) }
    }

    private func remove(_ reason: PauseReasons, from state: inout State) {
        guard state.reasons.remove(reason) != nil, state.reasons.isEmpty else { return }
        transport.perform(.resume, on: connection)
    }
}
