import SignalboxRoutes
import Synchronization

/// Queues commands from the run, the program and the page, which one task performs for a web view on the main actor.
/// The queue is safe to use from any thread, and its methods never block.
final class PageCommands: WebViewSurface {
    /// A command for the view.
    enum Command: Sendable, Hashable {
        /// Evaluates the scripts of the run.
        case evaluate
        case load(URLText)
        case reload
        /// Reloads the page after its process has ended.
        case recover(after: Duration)
        /// Opens a window that the page requested.
        case open(Popup)
        /// Closes the page. This is always the last command.
        case end
    }

    /// A window that a page asked to open.
    struct Popup: Sendable, Hashable {
        /// The URL as reported by the engine.
        let text: String
        /// The page that asked for the window, if known.
        let page: URLText?
    }

    private struct State {
        var isEnded = false
        var isStopping = false
        var needsEvaluation = false
        /// The most recent load. A new load replaces a pending one, which it would stop anyway.
        var load: Command?
        var popups: [Popup] = []
        var reader: CheckedContinuation<Command, Never>?
    }

    private let bound: Int
    private let state = Mutex(State())

    /// - Parameter bound: The maximum number of requested windows that can wait for a verdict.
    init(bound: Int) {
        self.bound = bound
    }

    func wake() {
        add { $0.needsEvaluation = true }
    }

    func end() {
        add { $0.isEnded = true }
    }

    /// Begins the graceful end, after which nothing more is loaded.
    func stop() {
        state.withLock { $0.isStopping = true }
    }

    /// Whether loading has stopped.
    var isStopping: Bool { state.withLock { $0.isStopping || $0.isEnded } }

    /// - Parameter command: A load, a reload or a recovery, which replaces the pending one, if any.
    func load(_ command: Command) {
        add { $0.load = command }
    }

    /// - Returns: Whether the queue had room for the window.
    func open(_ popup: Popup) -> Bool {
        var hasRoom = false
        add { state in
            hasRoom = state.popups.count < bound
            if hasRoom { state.popups.append(popup) }
        }
        return hasRoom
    }

    /// Waits for the next command, even after the task has been cancelled. Only one reader may wait at a time.
    func next() async -> Command {
        await withCheckedContinuation { reader in
            let command = state.withLock { state -> Command? in
                if let command = PageCommands.take(&state) { return command }
                state.reader = reader
                return nil
            }
            if let command { reader.resume(returning: command) }
        }
    }

    private func add(_ change: (inout State) -> Void) {
        let taken = state.withLock { state -> (reader: CheckedContinuation<Command, Never>, command: Command)? in
            change(&state)
            guard let reader = state.reader, let command = PageCommands.take(&state) else { return nil }
            state.reader = nil
            return (reader, command)
        }
        if let taken { taken.reader.resume(returning: taken.command) }
    }

    private static func take(_ state: inout State) -> Command? {
        if state.isEnded { return .end }
        if state.needsEvaluation {
            state.needsEvaluation = false
            return .evaluate
        }
        if let load = state.load {
            state.load = nil
            return load
        }
        return state.popups.isEmpty ? nil : .open(state.popups.removeFirst())
    }
}
