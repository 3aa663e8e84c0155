import SignalboxCore
import Synchronization

/// What stands around calls, and who is told of their outcomes. Any thread.
final class MiddlewareList: Sendable {
    private struct State {
        var middleware: [any Middleware] = []
        var observers: [any OutcomeObserver] = []
        var reportObservers: [any ReportObserver] = []
    }

    private let state = Mutex(State())
    /// Looked at for every run and every settlement, so that a program without middleware takes no lock.
    private let holdsMiddleware = Atomic<Bool>(false)
    private let holdsObservers = Atomic<Bool>(false)

    func add(_ middleware: any Middleware) {
        state.withLock { state in
            state.middleware.append(middleware)
            if let observer = middleware as? any OutcomeObserver { state.observers.append(observer) }
            if let observer = middleware as? any ReportObserver { state.reportObservers.append(observer) }
            holdsObservers.store(!state.observers.isEmpty, ordering: .releasing)
            holdsMiddleware.store(true, ordering: .releasing)
        }
    }

    func add(_ observer: any OutcomeObserver) {
        state.withLock { state in
            state.observers.append(observer)
            if let observer = observer as? any ReportObserver { state.reportObservers.append(observer) }
            holdsObservers.store(true, ordering: .releasing)
        }
    }

    var isEmpty: Bool { !holdsMiddleware.load(ordering: .acquiring) }

    /// The outermost first.
    var all: [any Middleware] {
        isEmpty ? [] : state.withLock { $0.middleware }
    }

    /// Asked for once a second.
    var reportObservers: [any ReportObserver] { state.withLock { $0.reportObservers } }

    var hasObservers: Bool { holdsObservers.load(ordering: .acquiring) }

    var observers: [any OutcomeObserver] {
        hasObservers ? state.withLock { $0.observers } : []
    }
}
