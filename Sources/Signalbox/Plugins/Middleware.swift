public import SignalboxCore
import Synchronization

/// A handler around the calls of plugins, which can inspect each call before and after, or return an outcome in the
/// plugin's place.
///
/// Middleware is the innermost stage before the plugin, after access rules, deduplication, deadline, rate limit,
/// circuit breaker, lane, attempts and timeout. It therefore runs once per attempt, on the plugin's lane, within the
/// plugin's timeout, and only for actions that may call the plugin. The first middleware added is the outermost;
/// middleware for all plugins surrounds that for one plugin. Decisions of the supervisor, such as a rejection or a
/// timeout, do not pass through middleware. Middleware that also conforms to ``OutcomeObserver`` is notified of them.
///
/// The body is decoded inside the middleware. With ``LaneOrder/key(_:)`` it is decoded before the lane, which needs the
/// key, so an action whose body does not decode does not reach middleware.
///
/// Calls of a `BatchPlugin` pass through no middleware, because one call handles many actions.
public protocol Middleware: Sendable {
    /// Handles one attempt, usually by passing the action on.
    ///
    /// - Parameters:
    ///   - context: The action. Its body is not decoded yet, except with ordering by key.
    ///   - next: The rest of the chain: further middleware, then the plugin. Call it at most once.
    /// - Returns: The outcome of `next`, or another. A retryable `Outcome.failed` is retried if the plugin has a
    ///   ``RetryPolicy``. `Outcome.abandoned` leaves the action unacknowledged.
    func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome
}

/// The rest of a middleware chain: further middleware, then the plugin.
public struct MiddlewareNext: Sendable {
    /// The action the plugin is registered for. It never comes from a message and shares no memory with one, so
    /// middleware may store it or use it as a metric label.
    public let plugin: ActionName
    private let middleware: ArraySlice<any Middleware>
    private let call: @Sendable (ActionContext) async -> Outcome

    init(
        _ middleware: ArraySlice<any Middleware>,
        plugin: ActionName,
        call: @escaping @Sendable (ActionContext) async -> Outcome
    ) {
        self.plugin = plugin
        self.middleware = middleware
        self.call = call
    }

    /// Passes the action on.
    ///
    /// - Parameter context: The context that the middleware received.
    /// - Returns: The outcome of this attempt, or `rejected(invalidBody)` if the body does not match the plugin's
    ///   `Info`. With ``LaneOrder/key(_:)`` such an action does not get here.
    public func callAsFunction(_ context: ActionContext) async -> Outcome {
        guard let first = middleware.first else { return await call(context) }
        return await first.handle(context, next: MiddlewareNext(middleware.dropFirst(), plugin: plugin, call: call))
    }
}

/// An observer of every decided arrival, whether or not it reached a plugin.
///
/// Adding ``Middleware`` that also conforms to this protocol registers it as an observer: of all arrivals with
/// ``Supervisor/use(_:)``, or of the arrivals for one plugin if it is added to that plugin.
public protocol OutcomeObserver: Sendable {
    /// Notifies the observer of a decided arrival, once and before its adapter is notified. Called on any thread,
    /// possibly concurrently; must not block.
    func settled(_ arrival: SettledArrival)
}

/// An arrival and its outcome, as passed to ``SupervisorConfiguration/onOutcome``.
public struct SettledArrival: Sendable {
    /// The arrival, with its origin and original bytes.
    public let arrival: Arrival
    /// The plugin the arrival was meant for, or `nil` if none was found.
    public let plugin: ActionName?
    /// The outcome of the arrival.
    public let outcome: Outcome
    /// The number of attempts that were started, including middleware and decoding; 0 for a duplicate, or if it was
    /// decided before the first. With ordering by key the body is decoded before the first attempt.
    public let attempts: Int
    /// Whether the arrival is a duplicate of an earlier one, by source and id, and received its outcome. The plugin was
    /// not called, and no dead letter was added.
    public let isDuplicate: Bool
    /// Whether a plugin or middleware made the outcome in the last attempt. Otherwise the supervisor decided.
    var isOutcomeOfAttempt = false
    /// The plugin's description for ``explanation``.
    var outline: PluginOutline?
}

/// An observer of a supervisor's reports, once a second and once at the end of the run.
///
/// Suited to gauges that have no event, such as window use. A ``Middleware`` or ``OutcomeObserver`` that also conforms
/// to this protocol is registered by ``Supervisor/use(_:)`` and ``Supervisor/observe(_:)``.
public protocol ReportObserver: Sendable {
    /// Notifies the observer of a report. Called on the supervisor's timer, one call at a time; must not block.
    func reported(_ report: SupervisorReport)
}

extension Supervisor {
    /// Adds middleware around the calls of all plugins, inside any added before.
    ///
    /// It applies to every slice of a batch that a lane starts afterwards. Middleware that also conforms to
    /// ``OutcomeObserver`` or ``ReportObserver`` receives every later outcome or report.
    public func use(_ middleware: any Middleware) {
        core.middleware.add(middleware)
    }

    /// Adds an observer of every later outcome, and of every later report if it also conforms to ``ReportObserver``.
    public func observe(_ observer: any OutcomeObserver) {
        core.middleware.add(observer: observer)
    }

    /// Adds middleware around the calls of one plugin, inside the middleware for all plugins and the plugin's existing
    /// middleware. It does not carry over to a plugin that replaces this one. Middleware that also conforms to
    /// ``OutcomeObserver`` is notified of the outcomes of actions for the plugin.
    ///
    /// - Throws: ``RegistrationError/noSuchAction(_:)`` if no plugin is registered for the action, or
    ///   ``RegistrationError/middlewareUnsupported(_:)`` if it is a `BatchPlugin`.
    public func use(_ middleware: any Middleware, for action: ActionName) throws(RegistrationError) {
        guard let entry = registry.snapshot.entry(named: action) else { throw .noSuchAction(action) }
        guard !entry.call.takesWholeSlices else { throw .middlewareUnsupported(action) }
        entry.middleware.add(middleware)
    }
}

/// The middleware around calls and the observers of their outcomes. Safe on any thread.
final class MiddlewareList: Sendable {
    private struct State {
        var middleware: [any Middleware] = []
        var observers: [any OutcomeObserver] = []
        var reportObservers: [any ReportObserver] = []
    }

    private let state = Mutex(State())
    /// Checked for every slice and settlement, so that a program without middleware takes no lock.
    private let holdsMiddleware = Atomic<Bool>(false)
    private let holdsObservers = Atomic<Bool>(false)

    func add(_ middleware: any Middleware) {
        state.withLock { $0.middleware.append(middleware) }
        holdsMiddleware.store(true, ordering: .releasing)
        add(observer: middleware)
    }

    /// Adds an object as an observer of whatever it can observe.
    func add(observer: any Sendable) {
        state.withLock { state in
            if let observer = observer as? any OutcomeObserver { state.observers.append(observer) }
            if let observer = observer as? any ReportObserver { state.reportObservers.append(observer) }
            holdsObservers.store(!state.observers.isEmpty, ordering: .releasing)
        }
    }

    var isEmpty: Bool { !holdsMiddleware.load(ordering: .acquiring) }

    /// The middleware, outermost first.
    var all: [any Middleware] {
        isEmpty ? [] : state.withLock { $0.middleware }
    }

    /// The report observers, read once a second.
    var reportObservers: [any ReportObserver] { state.withLock { $0.reportObservers } }

    var hasObservers: Bool { holdsObservers.load(ordering: .acquiring) }

    var observers: [any OutcomeObserver] {
        hasObservers ? state.withLock { $0.observers } : []
    }
}
