public import SignalboxCore
import Synchronization

/// A handler around the calls of plugins. It can inspect each call before and after, or return an outcome without
/// calling the plugin.
///
/// Use middleware for work that many plugins share, such as metrics, tracing or an additional check:
///
/// ```swift
/// struct Timing: Middleware {
///     func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome {
///         let start = ContinuousClock.now
///         let outcome = await next(context)
///         context.logger.debug("\(next.plugin) took \(ContinuousClock.now - start)")
///         return outcome
///     }
/// }
/// ```
///
/// Middleware is the innermost stage before the plugin, after access rules, deduplication, deadline, rate limit,
/// circuit breaker, lane, attempts and timeout. It therefore runs once per attempt, on the plugin's lane, within the
/// plugin's timeout, and only for actions that may call the plugin. The first middleware added is the outermost, and
/// middleware for all plugins surrounds the middleware for one plugin. Decisions of the supervisor, such as a rejection
/// or a timeout, do not pass through middleware. To be notified of them, conform to ``OutcomeObserver`` as well.
///
/// The body is decoded inside the middleware, so middleware also sees actions whose body turns out to be invalid. With
/// ``LaneOrder/key(_:)``, however, the lane needs the key of each action, so the body is decoded before the lane. An
/// action whose body does not decode then does not reach middleware.
///
/// Calls of a `BatchPlugin` pass through no middleware, because one call handles many actions.
public protocol Middleware: Sendable {
    /// Handles one attempt, usually by passing the action on to `next`.
    ///
    /// - Parameters:
    ///   - context: The action. Its body is not decoded yet, except with ordering by key.
    ///   - next: The rest of the chain, which consists of further middleware and then the plugin. Call it at most once.
    /// - Returns: The outcome of `next`, or another outcome. A retryable `Outcome.failed` is retried if the plugin has
    ///   a ``RetryPolicy``. `Outcome.abandoned` leaves the action unacknowledged.
    func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome
}

/// The rest of a middleware chain, which consists of further middleware and then the plugin.
public struct MiddlewareNext: Sendable {
    /// The action that the plugin is registered for. The value never comes from a message and shares no memory with
    /// one, so middleware may store it or use it as a metric label.
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

    /// Passes the action on to the next middleware, or to the plugin if this is the last middleware.
    ///
    /// - Parameter context: The context that the middleware received.
    /// - Returns: The outcome of this attempt, or `rejected(invalidBody)` if the body does not match the plugin's
    ///   `Info`. With ``LaneOrder/key(_:)``, an action with such a body is rejected earlier, without an attempt.
    public func callAsFunction(_ context: ActionContext) async -> Outcome {
        guard let first = middleware.first else { return await call(context) }
        return await first.handle(context, next: MiddlewareNext(middleware.dropFirst(), plugin: plugin, call: call))
    }
}

/// An observer of every decided arrival, whether or not the arrival reached a plugin.
///
/// Use an observer to count or record outcomes. Add it with ``Supervisor/observe(_:)``. ``Middleware`` that also
/// conforms to this protocol is registered as an observer when it is added. ``Supervisor/use(_:)`` registers it for all
/// arrivals, and adding it to one plugin registers it for the arrivals of that plugin.
public protocol OutcomeObserver: Sendable {
    /// Notifies the observer of a decided arrival. The supervisor calls this method once per arrival, before it
    /// notifies the arrival's adapter. Calls come from any thread and may be concurrent, so the method must not block.
    func settled(_ arrival: SettledArrival)
}

/// An arrival and its outcome, as passed to ``SupervisorConfiguration/onOutcome``.
public struct SettledArrival: Sendable {
    /// The arrival, with its origin and its original bytes.
    public let arrival: Arrival
    /// The plugin that the arrival was meant for, or `nil` if none was found.
    public let plugin: ActionName?
    /// The outcome of the arrival.
    public let outcome: Outcome
    /// The number of attempts that were started, including middleware and decoding. It is 0 for a duplicate, and for an
    /// arrival that was decided before its first attempt. With ordering by key, the body is decoded before the first
    /// attempt.
    public let attempts: Int
    /// Whether the arrival is a duplicate of an earlier one, by source and id, and received the outcome of that one.
    /// For a duplicate, the plugin is not called, and no dead letter is added.
    public let isDuplicate: Bool
    /// Whether a plugin or middleware made the outcome in the last attempt. Otherwise, the supervisor decided.
    var isOutcomeOfAttempt = false
    /// The description of the plugin, for ``explanation``.
    var outline: PluginOutline?
}

/// An observer of a supervisor's reports.
///
/// Use it for gauges that no event updates, such as the use of a window. The supervisor sends a report once a second
/// and once at the end of the run. A ``Middleware`` or ``OutcomeObserver`` that also conforms to this protocol is
/// registered by ``Supervisor/use(_:)`` and ``Supervisor/observe(_:)``.
public protocol ReportObserver: Sendable {
    /// Notifies the observer of a report. The supervisor calls this method on its timer, one call at a time, so the
    /// method must not block.
    func reported(_ report: SupervisorReport)
}

extension Supervisor {
    /// Adds middleware around the calls of all plugins. The new middleware runs inside any middleware added before.
    ///
    /// It applies to every slice of a batch that a lane starts after this call. Middleware that also conforms to
    /// ``OutcomeObserver`` or ``ReportObserver`` receives every later outcome or report.
    public func use(_ middleware: any Middleware) {
        core.middleware.add(middleware)
    }

    /// Adds an observer of every later outcome. If the observer also conforms to ``ReportObserver``, it receives every
    /// later report too.
    public func observe(_ observer: any OutcomeObserver) {
        core.middleware.add(observer: observer)
    }

    /// Adds middleware around the calls of one plugin. The new middleware runs inside the middleware for all plugins
    /// and inside the plugin's existing middleware.
    ///
    /// If another plugin replaces this one, the middleware is not applied to the new plugin. Middleware that also
    /// conforms to ``OutcomeObserver`` is notified of the outcomes of the plugin's actions.
    ///
    /// - Throws: ``RegistrationError/noSuchAction(_:)`` if no plugin is registered for the action, or
    ///   ``RegistrationError/middlewareUnsupported(_:)`` if the plugin is a `BatchPlugin`.
    public func use(_ middleware: any Middleware, for action: ActionName) throws(RegistrationError) {
        guard let entry = registry.snapshot.entry(named: action) else { throw .noSuchAction(action) }
        guard !entry.call.takesWholeSlices else { throw .middlewareUnsupported(action) }
        entry.middleware.add(middleware)
    }
}

/// The middleware around calls, and the observers of their outcomes. The list is safe to use from any thread.
final class MiddlewareList: Sendable {
    private struct State {
        var middleware: [any Middleware] = []
        var observers: [any OutcomeObserver] = []
        var reportObservers: [any ReportObserver] = []
    }

    private let state = Mutex(State())
    /// Whether there is middleware. This flag is checked for every slice and settlement, so that a program without
    /// middleware takes no lock.
    private let holdsMiddleware = Atomic<Bool>(false)
    private let holdsObservers = Atomic<Bool>(false)

    func add(_ middleware: any Middleware) {
        // The observer comes first, so that every call inside the middleware is also observed.
        add(observer: middleware)
        state.withLock { $0.middleware.append(middleware) }
        holdsMiddleware.store(true, ordering: .releasing)
    }

    /// Registers an object as an observer of outcomes, of reports, or of both, depending on the protocols it conforms
    /// to.
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

    /// The observers of reports, which the supervisor reads once a second.
    var reportObservers: [any ReportObserver] { state.withLock { $0.reportObservers } }

    var hasObservers: Bool { holdsObservers.load(ordering: .acquiring) }

    var observers: [any OutcomeObserver] {
        hasObservers ? state.withLock { $0.observers } : []
    }
}
