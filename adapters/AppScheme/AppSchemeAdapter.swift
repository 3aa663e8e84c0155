public import Logging
public import SignalboxCore
import Synchronization

/// An adapter that turns links opened by the system into actions. Links are delivered in order, each at most once.
///
/// Use this adapter for universal links, and for deep links with your application's own scheme:
///
/// ```swift
/// let inbox = LinkInbox()
/// let routes = try AppRoutes([AppRoute(URLPattern("myapp://product/{number:int}"), action: "openProduct")])
/// try supervisor.add(AppSchemeAdapter(source: "links", routes: routes, links: inbox, logger: logger))
/// ```
///
/// The action of a link depends only on the route that matches the link, as described in ``AppRoutes``. Links that
/// cannot be parsed or that match no route are submitted as well, and then rejected.
///
/// Links are the least trusted kind of message, because any page can create one. A plugin receives links only if the
/// plugin's access rule names them explicitly, as `AccessRule.link(scheme:)` does.
///
/// The links come from a ``LinkInbox`` or from another sequence. The `next()` method of any other sequence must return
/// when the task that calls it is cancelled, as it does in `AsyncStream`. Otherwise, a run cannot be stopped while it
/// waits for a link.
public struct AppSchemeAdapter<Links: AsyncSequence & Sendable>: Adapter, InFlightLimitedAdapter
where Links.Element == String, Links.Failure == Never {
    /// The maximum number of unsettled links in a run: 4. Because more than one is allowed, a single slow plugin does
    /// not immediately hold up links for other plugins.
    ///
    /// Further links stay in the bounded ``LinkInbox``, even after the run has stopped.
    public static var maximumInFlight: Int { 4 }

    /// The name of the source, which access rules and log lines use.
    public let source: SourceName
    /// The routes that map links to actions.
    public let routes: AppRoutes
    /// The sequence of links.
    public let links: Links
    private let limits: MessageLimits
    private let logger: Logger
    private let onOutcome: @Sendable (String, Outcome) -> Void

    /// - Parameters:
    ///   - source: The name of the source.
    ///   - routes: The routes that map links to actions.
    ///   - links: The links. Only one run at a time iterates over them. A run is stopped by cancelling its task, so the
    ///     sequence's wait for the next link must end when the task is cancelled.
    ///   - limits: The limits for each link. A link longer than `bytes` is rejected. URLs longer than 65,536 bytes are
    ///     never parsed.
    ///   - logger: The logger for the numbers of waiting and refused links. The content of links is never logged.
    ///   - onOutcome: A closure that is called once for each link, with the original text of the link and the link's
    ///     outcome. For example, it can show a page for links that no plugin handled. The closure is called on any
    ///     thread and possibly concurrently, but always before the run returns. The closure must not block. A link that
    ///     returns to its ``LinkInbox`` is reported by a later run.
    public init(
        source: SourceName,
        routes: AppRoutes,
        links: Links,
        limits: MessageLimits = MessageLimits(),
        logger: Logger,
        onOutcome: @escaping @Sendable (_ link: String, _ outcome: Outcome) -> Void = { _, _ in }
    ) {
        self.source = source
        self.routes = routes
        self.links = links
        self.limits = limits
        self.logger = logger
        self.onOutcome = onOutcome
    }

    /// The features of this source, which sends no replies, has no sender and does not redeliver links.
    ///
    /// If a route sets ``AppRoute/once``, ids are stable, so a supervisor recognizes a link that is opened again.
    public var features: AdapterFeatures { routes.hasOnce ? .stableIDs : [] }

    /// ``maximumInFlight``, as the supervisor reads it.
    package var maximumUnsettled: Int { Self.maximumInFlight }

    /// Delivers links until the task is cancelled, the intake closes, or the sequence ends.
    ///
    /// Cancelling the task stops the run gracefully. The run takes no more links, and returns when all links in flight
    /// are settled and `onOutcome` has returned for each of them. This wait is limited by the supervisor's drain
    /// timeout. Links that are still unsettled when the timeout expires receive the outcome `abandoned(drain)` and are
    /// not redelivered.
    ///
    /// Links waiting in a ``LinkInbox`` stay there for the next run in the same process. If the run has taken a link
    /// that it can no longer submit, the link returns to the front of the inbox. A link that came from another kind of
    /// sequence receives the outcome `abandoned(drain)` instead.
    ///
    /// If another run is already waiting for a link from the same inbox, this run returns at once and logs a warning.
    public func run(into intake: any Intake) async {
        let inbox = links as? LinkInbox
        let sink = LinkSink(onOutcome: onOutcome)
        var log = LinkLog(logger, source: source, inbox: inbox)
        var reader = LinkReader(source: source, routes: routes, limits: limits)
        var token: UInt64 = 0
        var isStopped = false
        log.began()
        for await link in links {
            token += 1
            sink.register(token, link)
            if await submit(reader.arrival(of: link, token: token), to: intake, sink) {
                await sink.waitUntilFewer(than: Self.maximumInFlight)
                log.logRefusals()
                isStopped = Task.isCancelled
            } else {
                sink.unregister(token)
                returnLink(link, to: inbox)
                isStopped = true
            }
            if isStopped { break }
        }
        await sink.waitUntilFewer(than: 1, countsAccepted: true)
        log.ended(isCutShort: !isStopped && !Task.isCancelled)
    }

    /// Submits a batch, waiting for room if necessary.
    ///
    /// - Returns: Whether the intake took the arrival. If not, the run must end.
    private func submit(_ batch: [Arrival], to intake: any Intake, _ sink: LinkSink) async -> Bool {
        while intake.submit(batch, to: sink) == 0 {
            do throws(SourceClosed) { try await intake.room() } catch { return false }
            if Task.isCancelled { return false }
        }
        return true
    }

    private func returnLink(_ link: String, to inbox: LinkInbox?) {
        if let inbox {
            inbox.putBack(link)
        } else {
            onOutcome(link, .abandoned(.drain))
        }
    }
}

extension AppSchemeAdapter: RestoringAdapter {
    /// Reads stored links again, with the current routes and limits. Their outcomes are not passed to `onOutcome`.
    public func restore(_ messages: [StoredMessage], at now: WallTime) -> [Arrival] {
        var reader = LinkReader(source: source, routes: routes, limits: limits)
        return reader.arrivals(of: messages, at: now)
    }
}

/// Forwards the outcomes of a run's links to the application, on any thread. The run returns only after all outcomes
/// have been forwarded.
final class LinkSink: SettlementSink {
    private struct State {
        var unsettled: [UInt64: String] = [:]
        /// The tokens of unsettled links that are accepted, and therefore not in flight any more.
        var accepted: Set<UInt64> = []
        /// The number of settled links whose `onOutcome` call has not returned.
        var pendingReports = 0
        var waiter: (limit: Int, countsAccepted: Bool, continuation: UnsafeContinuation<Void, Never>)?

        mutating func takeWaiterIfDone() -> UnsafeContinuation<Void, Never>? {
            guard let waiter else { return nil }
            let count = unsettled.count + pendingReports - (waiter.countsAccepted ? 0 : accepted.count)
            guard count < waiter.limit else { return nil }
            self.waiter = nil
            return waiter.continuation
        }
    }

    private let state = Mutex(State())
    private let onOutcome: @Sendable (String, Outcome) -> Void

    init(onOutcome: @escaping @Sendable (String, Outcome) -> Void) {
        self.onOutcome = onOutcome
    }

    /// Registers a link. Call this method before you submit the link, because `submit` may settle it synchronously.
    func register(_ token: UInt64, _ link: String) {
        state.withLock { $0.unsettled[token] = link }
    }

    /// Removes a link that the intake did not take and that will therefore never be settled.
    func unregister(_ token: UInt64) {
        state.withLock { _ = $0.unsettled.removeValue(forKey: token) }
    }

    func mayAcknowledge(_ token: UInt64) {}

    /// Makes room for another link, because the outcome of this one may come much later.
    func accepted(_ token: UInt64) {
        let waiter = state.withLock { state in
            if state.unsettled[token] != nil { state.accepted.insert(token) }
            return state.takeWaiterIfDone()
        }
        waiter?.resume()
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        let link = state.withLock { state in
            let link = state.unsettled.removeValue(forKey: token)
            state.accepted.remove(token)
            if link != nil { state.pendingReports += 1 }
            return link
        }
        guard let link else { return }
        // The run must not return before this call has returned, so that the application has received every outcome by
        // then.
        onOutcome(link, outcome)
        let waiter = state.withLock { state in
            state.pendingReports -= 1
            return state.takeWaiterIfDone()
        }
        waiter?.resume()
    }

    /// Waits until fewer than `limit` links are in flight. A link remains in flight until its `onOutcome` call has
    /// returned. Only one caller may wait at a time.
    ///
    /// - Parameter countsAccepted: Whether accepted links that have no outcome count, too.
    func waitUntilFewer(than limit: Int, countsAccepted: Bool = false) async {
        await withUnsafeContinuation { continuation in
            let waiter = state.withLock { state in
                state.waiter = (limit, countsAccepted, continuation)
                return state.takeWaiterIfDone()
            }
            waiter?.resume()
        }
    }
}
