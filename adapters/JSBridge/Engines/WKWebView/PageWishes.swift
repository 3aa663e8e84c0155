import SignalboxRoutes
import Synchronization

/// What a run, a program and a page want of a web view that lives on the main actor: the wishes wait here for the one task
/// there that fulfils them. Any thread; nothing blocks.
final class PageWishes: WebViewSurface {
    /// What is wanted.
    enum Wish: Sendable, Hashable {
        /// Evaluate what the run has.
        case evaluate
        case load(URLText)
        case reload
        /// Load the page again, as its process has ended.
        case recover(after: Duration)
        /// A page asks for a window.
        case open(Popup)
        /// Close the page. There is no other wish after it.
        case end
    }

    /// A window that a page asks for.
    struct Popup: Sendable, Hashable {
        /// The URL, as the engine has it.
        let text: String
        /// The page that asks, where it is known.
        let page: URLText?
    }

    private struct State {
        var isEnded = false
        var isStopping = false
        var isEvaluationWanted = false
        /// The last one wanted: one that came before it would be stopped by it.
        var load: Wish?
        var popups: [Popup] = []
        var reader: CheckedContinuation<Wish, Never>?
    }

    private let bound: Int
    private let state = Mutex(State())

    /// - Parameter bound: the most windows that wait to be asked about.
    init(bound: Int) {
        self.bound = bound
    }

    func wake() {
        add { $0.isEvaluationWanted = true }
    }

    func end() {
        add { $0.isEnded = true }
    }

    /// The graceful end has begun: nothing more is loaded.
    func stop() {
        state.withLock { $0.isStopping = true }
    }

    /// Whether nothing more is loaded.
    var isStopping: Bool { state.withLock { $0.isStopping || $0.isEnded } }

    /// - Parameter wish: a load, a reload or a recovery; one that waits still is forgotten.
    func load(_ wish: Wish) {
        add { $0.load = wish }
    }

    /// - Returns: whether there was room.
    func open(_ popup: Popup) -> Bool {
        var hasRoom = false
        add { state in
            hasRoom = state.popups.count < bound
            if hasRoom { state.popups.append(popup) }
        }
        return hasRoom
    }

    /// The next wish, whenever it comes, also when the task is cancelled. One reader at a time.
    func next() async -> Wish {
        await withCheckedContinuation { reader in
            let wish = state.withLock { state -> Wish? in
                if let wish = PageWishes.take(&state) { return wish }
                state.reader = reader
                return nil
            }
            if let wish { reader.resume(returning: wish) }
        }
    }

    private func add(_ change: (inout State) -> Void) {
        let fulfilled = state.withLock { state -> (reader: CheckedContinuation<Wish, Never>, wish: Wish)? in
            change(&state)
            guard let reader = state.reader, let wish = PageWishes.take(&state) else { return nil }
            state.reader = nil
            return (reader, wish)
        }
        if let fulfilled { fulfilled.reader.resume(returning: fulfilled.wish) }
    }

    private static func take(_ state: inout State) -> Wish? {
        if state.isEnded { return .end }
        if state.isEvaluationWanted {
            state.isEvaluationWanted = false
            return .evaluate
        }
        if let load = state.load {
            state.load = nil
            return load
        }
        return state.popups.isEmpty ? nil : .open(state.popups.removeFirst())
    }
}
