import SignalboxCore
import Synchronization

/// What stands around the calls of all plugins, who is told of every outcome, and who of every report. Any thread.
final class MiddlewareList: Sendable {
    private struct State {
        var middleware: [any Middleware] = []
        var observers: [any OutcomeObserver] = []
        var reportObservers: [any ReportObserver] = []

        mutating func addObserver(_ candidate: any Sendable) {
            if let observer = candidate as? any OutcomeObserver { observers.append(observer) }
            if let observer = candidate as? any ReportObserver { reportObservers.append(observer) }
        }
    }

    private let state = Mutex(State())
    /// Looked at for every run and every settlement, so that a program without middleware takes no lock.
    private let hasMiddleware = Atomic<Bool>(false)
    private let hasObservers = Atomic<Bool>(false)

    func add(_ middleware: any Middleware) {
        state.withLock { state in
            state.middleware.append(middleware)
            hasMiddleware.store(true, ordering: .releasing)
        }
        addObserver(middleware)
    }

    /// Adds what is an ``OutcomeObserver`` or a ``ReportObserver``, and nothing else.
    func addObserver(_ candidate: any Sendable) {
        state.withLock { state in
            state.addObserver(candidate)
            hasObservers.store(!state.observers.isEmpty, ordering: .releasing)
        }
    }

    /// The outermost first.
    var all: [any Middleware] {
        hasMiddleware.load(ordering: .acquiring) ? state.withLock { $0.middleware } : []
    }

    var observers: [any OutcomeObserver] {
        hasObservers.load(ordering: .acquiring) ? state.withLock { $0.observers } : []
    }

    /// Asked once a second.
    var reportObservers: [any ReportObserver] { state.withLock { $0.reportObservers } }
}
