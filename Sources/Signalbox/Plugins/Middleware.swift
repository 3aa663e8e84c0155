public import SignalboxCore
import Synchronization

/// Runs around the calls of plugins. Middleware can act before and after each call, or return an outcome without
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
/// Middleware is the last stage before the plugin, after access rules, deduplication, deadline, rate limit, circuit
/// breaker, lane, attempts and timeout. It therefore runs once per attempt, on the plugin's lane and within the
/// plugin's timeout, and only for actions that may call the plugin.
///
/// The middleware that is added first is the outermost, and middleware for all plugins surrounds the middleware for a
/// single plugin. Decisions of the supervisor, such as a rejection or a timeout, do not pass through middleware. To be
/// notified of these decisions as well, conform to ``OutcomeObserver``.
///
/// The body is decoded inside the middleware, so middleware also sees actions whose body turns out to be invalid. With
/// ``LaneOrder/key(_:)``, however, the lane needs the key of each action, so the body is decoded before the action
/// joins its group, and an action with an invalid body does not reach middleware.
///
/// Calls of a `BatchPlugin` pass through no middleware, because a single call handles many actions.
public protocol Middleware: Sendable {
    /// Handles one attempt, usually by passing the action on to `next`.
    ///
    /// - Parameters:
    ///   - context: The action, whose body has not been decoded yet unless actions are ordered by key.
    ///   - next: The rest of the chain: any further middleware, and then the plugin. Call it at most once.
    /// - Returns: The outcome of `next`, or a different one. A retryable `Outcome.failed` is retried if the plugin has
    ///   a ``RetryPolicy``. `Outcome.abandoned` leaves the action unacknowledged.
    func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome
}

/// The rest of a middleware chain: any further middleware, and then the plugin.
public struct MiddlewareNext: Sendable {
    /// The action that the plugin is registered for. This value never comes from a message and shares no memory with
    /// one, so you can store it or use it as a metric label.
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

    /// Passes the action on to the next middleware, or to the plugin if there is no further middleware.
    ///
    /// - Parameter context: The context that the middleware received.
    /// - Returns: The outcome of this attempt, or `rejected(invalidBody)` if the body does not match the plugin's
    ///   `Info`. With ``LaneOrder/key(_:)``, such an action is rejected earlier, without an attempt.
    public func callAsFunction(_ context: ActionContext) async -> Outcome {
        guard let first = middleware.first else { return await call(context) }
        return await first.handle(context, next: MiddlewareNext(middleware.dropFirst(), plugin: plugin, call: call))
    }
}

/// Observes every decided arrival, whether or not it reached a plugin.
///
/// Use an observer to count or record outcomes, and add it with `Supervisor.observe(_:)`. If a ``Middleware`` also
/// conforms to this protocol, adding the middleware registers it as an observer. ``Supervisor/use(_:)`` registers it
/// for all arrivals, and adding it to a single plugin registers it for that plugin's arrivals.
public protocol OutcomeObserver: Sendable {
    /// Notifies the observer of a decided arrival. The supervisor calls this method once per arrival, before it
    /// notifies the arrival's adapter. The method can be called on any thread, and concurrently, so it must not block.
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
    /// The number of attempts that were started, including middleware and decoding, or 0 for a duplicate or an arrival
    /// that was decided before its first attempt. With ordering by key, decoding comes before the first attempt.
    public let attempts: Int
    /// Whether the arrival duplicates an earlier arrival with the same source and id, and received the earlier
    /// arrival's outcome. For a duplicate, the plugin is not called and no dead letter is added.
    public let isDuplicate: Bool
    /// Whether the outcome comes from a plugin or middleware in the last attempt rather than from a decision of the
    /// supervisor.
    var isOutcomeOfAttempt = false
    /// The plugin's description, which ``explanation`` uses.
    var outline: PluginOutline?
}

/// Observes a supervisor's reports.
///
/// Use an observer for gauges that are not driven by events, such as the use of a window. The supervisor sends a report
/// once a second, and once at the end of the run. If a ``Middleware`` or ``OutcomeObserver`` also conforms to this
/// protocol, ``Supervisor/use(_:)`` and `Supervisor.observe(_:)` register it for reports as well.
public protocol ReportObserver: Sendable {
    /// Notifies the observer of a report. Called on the supervisor's timer, one call at a time, so this method must not
    /// block.
    func reported(_ report: SupervisorReport)
}

extension Supervisor {
    /// Notifies an observer of a report, once a second while the supervisor runs and once at its end.
    public func observe(reports observer: any ReportObserver) {
        core.middleware.add(observer: observer)
    }

    /// Adds middleware around the calls of all plugins. New middleware runs inside the middleware that was added
    /// before.
    ///
    /// The middleware applies to every slice of a batch that a lane starts after this call. If the middleware also
    /// conforms to ``OutcomeObserver`` or ``ReportObserver``, it receives every later outcome or report.
    public func use(_ middleware: any Middleware) {
        core.middleware.add(middleware)
    }

    /// Adds an observer of every later outcome. If the observer also conforms to ``ReportObserver``, it receives every
    /// later report as well.
    public func observe(_ observer: any OutcomeObserver) {
        core.middleware.add(observer: observer)
    }

    /// Ends what ``observe(_:)`` began. Outcomes that are being settled on other threads may still reach the observer.
    package func stopObserving(_ observer: any OutcomeObserver & AnyObject) {
        core.middleware.remove(observer: observer)
    }

    /// Adds middleware around the calls of one plugin. New middleware runs inside the middleware for all plugins, and
    /// inside the plugin's existing middleware.
    ///
    /// If the plugin is replaced, its middleware does not apply to the new plugin. If the middleware also conforms to
    /// ``OutcomeObserver``, it is notified of the outcomes of the plugin's actions.
    ///
    /// - Throws: ``RegistrationError/noSuchAction(_:)`` if no plugin is registered for the action, or
    ///   ``RegistrationError/middlewareUnsupported(_:)`` if the plugin is a `BatchPlugin`.
    public func use(_ middleware: any Middleware, for action: ActionName) throws(RegistrationError) {
        guard let entry = registry.snapshot.entry(named: action) else { throw .noSuchAction(action) }
        guard !entry.call.takesWholeSlices else { throw .middlewareUnsupported(action) }
        entry.middleware.add(middleware)
    }
}

/// The middleware around calls, and the observers of their outcomes. Safe to use from any thread.
///
/// The list is part of its owner. As an object, its references would be counted for every slice, on the same cache line by all
/// lanes.
struct MiddlewareList: ~Copyable, Sendable {
    // Not private: the compiler (Swift 6.3.1) refuses a private type in a value without copies that other files store.
    struct State {
        var middleware: [any Middleware] = []
        var observers: [any OutcomeObserver] = []
        var reportObservers: [any ReportObserver] = []
        var metrics: [SupervisorMetrics] = []
    }

    private let state = Mutex(State())
    /// Whether there is any middleware. This flag is checked for every slice and settlement, so that programs without
    /// middleware take no lock.
    private let holdsMiddleware = Atomic<Bool>(false)
    private let holdsObservers = Atomic<Bool>(false)
    private let holdsMetrics = Atomic<Bool>(false)

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

    func remove(observer: any OutcomeObserver & AnyObject) {
        state.withLock { state in
            state.observers.removeAll { ($0 as AnyObject) === observer }
            holdsObservers.store(!state.observers.isEmpty, ordering: .releasing)
        }
    }

    func add(_ metrics: SupervisorMetrics) {
        state.withLock { state in
            state.metrics.append(metrics)
            state.reportObservers.append(metrics)
        }
        holdsMetrics.store(true, ordering: .releasing)
    }

    var metrics: [SupervisorMetrics] {
        holdsMetrics.load(ordering: .acquiring) ? state.withLock { $0.metrics } : []
    }

    var isEmpty: Bool { !holdsMiddleware.load(ordering: .acquiring) }

    /// All middleware, outermost first.
    var all: [any Middleware] {
        isEmpty ? [] : state.withLock { $0.middleware }
    }

    /// The observers of reports. The supervisor reads them once a second.
    var reportObservers: [any ReportObserver] { state.withLock { $0.reportObservers } }

    var hasObservers: Bool { holdsObservers.load(ordering: .acquiring) }

    var observers: [any OutcomeObserver] {
        hasObservers ? state.withLock { $0.observers } : []
    }
}
