public import Logging
public import SignalboxCore
import Synchronization

/// An adapter that turns the links that the system opens into actions. It delivers each link at most once, and in
/// order.
///
/// Use this adapter for deep links with a scheme of the application, and for universal links:
///
/// ```swift
/// let inbox = LinkInbox()
/// let routes = try AppRoutes([AppRoute(URLPattern("myapp://product/{number:int}"), action: "openProduct")])
/// try supervisor.add(AppSchemeAdapter(source: "links", routes: routes, links: inbox, logger: logger))
/// ```
///
/// The route alone determines the action of a link, as ``AppRoutes`` describes. A link that cannot be parsed or that
/// matches no route is also submitted, and it is rejected. Links are the least trusted source, because any page can
/// create one. A plugin therefore receives links only if its access rule names them, as `AccessRule.link(scheme:)`
/// does.
///
/// The links come from a ``LinkInbox``, or from another sequence whose `next()` returns when its task is cancelled, as
/// that of `AsyncStream` does. With any other sequence, a run cannot be stopped while it waits for a link.
public struct AppSchemeAdapter<Links: AsyncSequence & Sendable>: Adapter
where Links.Element == String, Links.Failure == Never {
    /// The maximum number of unsettled links in a run: 4. Because there can be more than one, a single slow plugin does
    /// not immediately hold up the links of other plugins. Further links stay in the bounded ``LinkInbox``, and they
    /// are still there after a stop.
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
    ///   - links: The links. One run at a time iterates over them. The wait for the next link must end when the task is
    ///     cancelled, because that is how a run stops.
    ///   - limits: The limits of one link. A link that is longer than `bytes` is rejected. URLs over 65,536 bytes are
    ///     never parsed.
    ///   - logger: The logger for the numbers of waiting and refused links. The adapter never logs their content.
    ///   - onOutcome: A closure that the adapter calls once for each link, with the link as it was received and its
    ///     outcome. For example, an application can show a page for links that no plugin handled. The adapter calls the
    ///     closure on any thread, possibly several times concurrently, but always before the run returns. The closure
    ///     must not block. If a link returns to its ``LinkInbox``, a later run reports it.
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

    /// The features of this source. It sends no replies, has no sender and redelivers nothing. If a route sets
    /// ``AppRoute/once``, the ids of links are stable, so a supervisor recognizes a link that is opened again.
    public var features: AdapterFeatures { routes.hasOnce ? .stableIDs : [] }

    /// Delivers links until the task is cancelled, the intake closes, or the sequence ends.
    ///
    /// Cancelling the task stops the run gracefully. The run takes no more links, and returns when the links in flight
    /// are settled and `onOutcome` has returned for each of them. The drain timeout of the supervisor bounds this time.
    /// Links that are still unsettled at its end have the outcome `abandoned(drain)` and are not redelivered.
    ///
    /// The links that wait in a ``LinkInbox`` stay there for the next run in the same process. A link that the run had
    /// taken, but could no longer submit, returns to the front of the inbox. If it came from another sequence, it has
    /// the outcome `abandoned(drain)`.
    ///
    /// If another run already waits for a link from the same inbox, this run returns at once and logs a warning.
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
        await sink.waitUntilFewer(than: 1)
        log.ended(isCutShort: !isStopped && !Task.isCancelled)
    }

    /// Submits a batch, and waits for room if necessary.
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

/// Forwards the outcomes of the links of one run to the application, on any thread. The run waits for these outcomes.
final class LinkSink: SettlementSink {
    private struct State {
        var unsettled: [UInt64: String] = [:]
        /// The number of settled links whose `onOutcome` call has not returned.
        var pendingReports = 0
        var waiter: (limit: Int, continuation: UnsafeContinuation<Void, Never>)?

        mutating func takeWaiterIfDone() -> UnsafeContinuation<Void, Never>? {
            guard let waiter, unsettled.count + pendingReports < waiter.limit else { return nil }
            self.waiter = nil
            return waiter.continuation
        }
    }

    private let state = Mutex(State())
    private let onOutcome: @Sendable (String, Outcome) -> Void

    init(onOutcome: @escaping @Sendable (String, Outcome) -> Void) {
        self.onOutcome = onOutcome
    }

    /// Registers a link. Call this method before the link is submitted, because `submit` may settle it synchronously.
    func register(_ token: UInt64, _ link: String) {
        state.withLock { $0.unsettled[token] = link }
    }

    /// Removes a link that the intake did not take, so it will not be settled.
    func unregister(_ token: UInt64) {
        state.withLock { _ = $0.unsettled.removeValue(forKey: token) }
    }

    func mayAcknowledge(_ token: UInt64) {}

    func settle(_ token: UInt64, _ outcome: Outcome) {
        let link = state.withLock { state in
            let link = state.unsettled.removeValue(forKey: token)
            if link != nil { state.pendingReports += 1 }
            return link
        }
        guard let link else { return }
        // The run may return only after this call, so that the application has every outcome by then.
        onOutcome(link, outcome)
        let waiter = state.withLock { state in
            state.pendingReports -= 1
            return state.takeWaiterIfDone()
        }
        waiter?.resume()
    }

    /// Waits until fewer than `limit` links are in flight, including those whose `onOutcome` call has not returned.
    /// Only one caller at a time may wait.
    func waitUntilFewer(than limit: Int) async {
        await withUnsafeContinuation { continuation in
            let waiter = state.withLock { state in
                state.waiter = (limit, continuation)
                return state.takeWaiterIfDone()
            }
            waiter?.resume()
        }
    }
}
