public import SignalboxCore
import Synchronization

/// Stands around the calls of plugins: sees each before and after, and may answer in the plugin's place.
///
/// It is the innermost part of the path of an action: access rules, repeats, deadline, rate limit, circuit breaker, lane,
/// attempts and timeout lie before it, so it is called once per attempt, on the plugin's lane, within the plugin's
/// timeout, and only for actions that may call the plugin. Of several the first that was used is the outermost; those
/// for all plugins lie around those of one. What the supervisor decides by itself, a refusal or a timeout, passes no
/// middleware: one that is an ``OutcomeObserver`` too is told of it.
///
/// Behind it the body is decoded. With ``LaneOrder/key(_:)`` that is done before the lane, as the lane has to know the key:
/// an action whose body does not decode then passes no middleware.
///
/// The calls of a `BatchPlugin` pass none, as one call is for many actions.
public protocol Middleware: Sendable {
    /// Passes the action on, or not, and answers with what became of it.
    ///
    /// - Parameters:
    ///   - context: the action; its body is not decoded yet, but with an order by key.
    ///   - next: what lies behind: further middleware, then the plugin. Called at most once.
    /// - Returns: the outcome of `next`, or another. A `Outcome.failed` that says it is retryable is
    ///   retried where the plugin has a ``RetryPolicy``; `Outcome.abandoned` lets the action go
    ///   unacknowledged.
    func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome
}

/// What lies behind a middleware: further middleware, then the plugin.
public struct MiddlewareNext: Sendable {
    /// The action that the plugin is registered for, in memory of its own: what a middleware may keep, or name its numbers
    /// by, as it never comes from a message.
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
    /// - Parameter context: the one the middleware was given.
    /// - Returns: the outcome of this attempt. `rejected(invalidBody)` when the body is not what the plugin takes; with
    ///   ``LaneOrder/key(_:)`` such an action does not get here.
    public func callAsFunction(_ context: ActionContext) async -> Outcome {
        guard let first = middleware.first else { return await call(context) }
        return await first.handle(context, next: MiddlewareNext(middleware.dropFirst(), plugin: plugin, call: call))
    }
}

/// Told of every arrival when it is decided: those that reached a plugin, and those that did not.
///
/// A ``Middleware`` that conforms too is told as soon as it is used: with ``Supervisor/use(_:)`` of everything, for one plugin
/// of what was meant for that plugin.
public protocol OutcomeObserver: Sendable {
    /// Called once per arrival before its adapter is told, on any thread, also at the same time on several; must not
    /// block.
    func settled(_ arrival: SettledArrival)
}

/// An arrival and what became of it, as told to ``SupervisorConfiguration/onOutcome``.
public struct SettledArrival: Sendable {
    /// The arrival, with its origin and original bytes.
    public let arrival: Arrival
    /// The plugin it was meant for, or `nil` when none was found.
    public let plugin: ActionName?
    /// What became of it.
    public let outcome: Outcome
    /// How many attempts at a call were begun for it, middleware and decoding included; 0 when something else decided
    /// before the first, and for a repeat. With an order by key the body is decoded before the first attempt.
    public let attempts: Int
    /// Whether it repeats an earlier arrival, by source and id, and was settled with that one's outcome: the plugin was not
    /// called for it, and it is no dead letter of its own.
    public let isRepeat: Bool
    /// Whether the last attempt ended in the outcome, as a plugin or middleware made it; else the supervisor decided.
    var isOutcomeOfAttempt = false
    /// What ``explanation`` says of the plugin.
    var outline: PluginOutline?
}

/// Told once a second what a supervisor has done so far, and once more when it ends.
///
/// For numbers that have no event, such as how full the windows are. A ``Middleware`` or ``OutcomeObserver`` that conforms
/// too is told as soon as it is used.
public protocol ReportObserver: Sendable {
    /// Called on the supervisor's timer, one call at a time; must not block.
    func reported(_ report: SupervisorReport)
}

extension Supervisor {
    /// Puts middleware around the calls of all plugins, inside what was used before.
    ///
    /// It counts for every batch of actions that a lane begins from now on. One that is an ``OutcomeObserver`` too is told
    /// of every outcome from now on, one that is a ``ReportObserver`` of every report.
    public func use(_ middleware: any Middleware) {
        core.middleware.add(middleware)
    }

    /// Tells somebody of every outcome from now on, and of every report if it is a ``ReportObserver`` too.
    public func observe(_ observer: any OutcomeObserver) {
        core.middleware.add(observer)
    }

    /// Puts middleware around the calls of one plugin, inside that for all plugins and inside what it has already. A plugin
    /// that replaces this one begins with its own. One that is an ``OutcomeObserver`` too is told of the outcomes of actions
    /// that were meant for the plugin.
    ///
    /// Inside `reconfigure` it is put at once around what is registered there, and stays there if nothing else comes of it.
    ///
    /// - Throws: ``RegistrationError/noSuchAction(_:)`` when nothing is registered for the action,
    ///   ``RegistrationError/passesNoMiddleware(_:)`` when it is a `BatchPlugin`.
    public func use(_ middleware: any Middleware, for action: ActionName) throws(RegistrationError) {
        let draft = RegistryDraft.open(for: core.registry)
        let found = draft.map { $0.entry(named: action) } ?? core.registry.snapshot.entry(named: action)
        guard let entry = found else { throw .noSuchAction(action) }
        guard !entry.call.takesWholeRuns else { throw .passesNoMiddleware(action) }
        entry.middleware.add(middleware)
    }
}

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
