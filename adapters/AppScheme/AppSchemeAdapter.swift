public import Logging
public import SignalboxCore
import Synchronization

/// An adapter that turns links opened by the system into actions, in order and at most once each.
///
/// A link becomes an action through its route alone: see ``AppRoutes``. A link that cannot be parsed or that matches no
/// route is also submitted, and rejected. Links are the least trusted source: a plugin receives them only if its access
/// rule names them, as `AccessRule.link(scheme:)` does.
///
/// Links come from a ``LinkInbox`` or from any other sequence whose `next()` returns when its task is cancelled, as
/// that of `AsyncStream` does. Otherwise a run cannot be stopped while it waits for a link.
public struct AppSchemeAdapter<Links: AsyncSequence & Sendable>: Adapter
where Links.Element == String, Links.Failure == Never {
    /// The maximum number of unsettled links in a run: 4. A single slow plugin does not immediately hold up the links
    /// of other plugins. Further links stay in the bounded ``LinkInbox`` and are still there after a stop.
    public static var maximumInFlight: Int { 4 }

    /// The configured source of these arrivals.
    public let source: SourceName
    /// The routes that map links to actions.
    public let routes: AppRoutes
    /// The sequence of links.
    public let links: Links
    private let limits: MessageLimits
    private let logger: Logger
    private let onOutcome: @Sendable (String, Outcome) -> Void

    /// - Parameters:
    ///   - source: The source of these arrivals.
    ///   - routes: The routes that map links to actions.
    ///   - links: The links; one run at a time iterates over them. The wait for the next link must end when the task is
    ///     cancelled, because that is how a run stops.
    ///   - limits: The limits of one link; a link longer than `bytes` is rejected. URLs over 65,536 bytes are never
    ///     parsed.
    ///   - logger: Receives the numbers of waiting and refused links, never their content.
    ///   - onOutcome: Called once per link with the link as received and its outcome. An application can show a page
    ///     for links that no plugin handled. Runs on any thread, possibly concurrently, before the run returns. It must
    ///     not block. A link that is returned to its ``LinkInbox`` is reported by a later run.
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

    /// Links are neither answered nor sent, and are not redelivered. If a route sets ``AppRoute/once``, link ids are
    /// stable, so a supervisor recognizes a link that is opened again.
    public var features: AdapterFeatures { routes.hasOnce ? .stableIDs : [] }

    /// Delivers links until its task is cancelled, the intake closes, or the sequence ends.
    ///
    /// Cancellation stops the run gracefully. It takes no more links and returns when those in flight are settled and
    /// `onOutcome` has returned for each. The supervisor's drain timeout bounds this: links that are still unsettled
    /// then have the outcome `abandoned(drain)` and are not redelivered.
    ///
    /// Links waiting in a ``LinkInbox`` stay there for the next run in the same process. A link that was already taken
    /// when the intake closed returns to the front of the inbox. From another sequence, it has the outcome
    /// `abandoned(drain)`.
    ///
    /// If another run is already waiting on the same inbox, this one returns at once and logs a warning.
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

    /// - Returns: Whether the arrival was taken. If not, the run must end.
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

/// Forwards the outcomes of one run's links to the application, on any thread; the run waits for them.
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

    /// Registers a link. Called before it is submitted, because `submit` may settle it synchronously.
    func register(_ token: UInt64, _ link: String) {
        state.withLock { $0.unsettled[token] = link }
    }

    /// Removes a link that was not taken and so will not be settled.
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
        // Called before the run may return, so that the application has every outcome by then.
        onOutcome(link, outcome)
        let waiter = state.withLock { state in
            state.pendingReports -= 1
            return state.takeWaiterIfDone()
        }
        waiter?.resume()
    }

    /// Waits until fewer than `limit` links are in flight, counting those whose `onOutcome` call has not returned.
    /// Supports one caller at a time.
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
