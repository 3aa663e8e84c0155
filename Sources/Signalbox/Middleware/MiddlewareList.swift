import SignalboxCore
import Synchronization

/// What stands around the calls of all plugins, and who is told of every outcome. Any thread.
final class MiddlewareList: Sendable {
    private struct State {
        var middleware: [any Middleware] = []
        var observers: [any OutcomeObserver] = []
    }

    private let state = Mutex(State())
    /// Looked at for every run and every settlement, so that a program without middleware takes no lock.
    private let hasMiddleware = Atomic<Bool>(false)
    private let hasObservers = Atomic<Bool>(false)

    func add(_ middleware: any Middleware) {
        state.withLock { state in
            state.middleware.append(middleware)
            if let observer = middleware as? any OutcomeObserver { state.observers.append(observer) }
            hasObservers.store(!state.observers.isEmpty, ordering: .releasing)
            hasMiddleware.store(true, ordering: .releasing)
        }
    }

    func add(_ observer: any OutcomeObserver) {
        state.withLock { state in
            state.observers.append(observer)
            hasObservers.store(true, ordering: .releasing)
        }
    }

    /// The outermost first.
    var all: [any Middleware] {
        hasMiddleware.load(ordering: .acquiring) ? state.withLock { $0.middleware } : []
    }

    var hasAnyObserver: Bool { hasObservers.load(ordering: .acquiring) }

    var observers: [any OutcomeObserver] {
        hasAnyObserver ? state.withLock { $0.observers } : []
    }
}
