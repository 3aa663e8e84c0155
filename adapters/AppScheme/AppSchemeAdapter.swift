public import Logging
public import SignalboxCore
import Synchronization

/// Turns the links that the system hands to an application into actions, in their order and at most once each.
///
/// A link becomes an action by its route alone: see ``AppRoutes``. A link that cannot be read, or that no route
/// matches, is an arrival too, and rejected. Links are the least trusted source, so a plugin is called only where its
/// access rule names them, as `AccessRule.link(scheme:)` does.
///
/// The links come from a ``LinkInbox``, or from any other sequence whose wait for the next link ends when its task is
/// cancelled, as that of `AsyncStream` does: otherwise a run cannot be stopped while no link comes.
public struct AppSchemeAdapter<Links: AsyncSequence & Sendable>: Adapter
where Links.Element == String, Links.Failure == Never {
    /// The most links of a run that are taken and not settled: 4. One slow plugin does not hold up the links of others
    /// at once; and what cannot be handed to a plugin soon is still in the ``LinkInbox``, within its bounds, and is there
    /// at a stop.
    public static var maximumInFlight: Int { 4 }

    /// The source whose arrivals these are.
    public let source: SourceName
    /// What becomes of a link.
    public let routes: AppRoutes
    /// Where the links come from.
    public let links: Links
    private let limits: MessageLimits
    private let logger: Logger
    private let onOutcome: @Sendable (String, Outcome) -> Void

    /// - Parameters:
    ///   - source: the source whose arrivals these are.
    ///   - routes: what becomes of a link.
    ///   - links: where they come from; one run at a time iterates over it. Its wait for the next link must end when the
    ///     task is cancelled: that is how a run is stopped.
    ///   - limits: the bounds of one link; what exceeds `bytes` is rejected. No URL of more than 65,536 bytes is read.
    ///   - logger: hears how many links waited and were refused; never what they say.
    ///   - onOutcome: told once per link what became of it, with the link as it was handed in, so that an application
    ///     can show a page for what no plugin handled. Called on any thread, also on several at the same time, before
    ///     the run returns; must not block. A link that goes back into its ``LinkInbox`` is told of in a later run.
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

    /// Links are neither answered nor sent, and nothing comes again by itself. Where a route says ``AppRoute/once`` the ids
    /// of links are stable, so that a supervisor recognises a link that is opened again.
    public var features: AdapterFeatures { routes.hasOnce ? .stableIDs : [] }

    /// Delivers links until its task is cancelled, the intake closes, or the links end.
    ///
    /// Cancellation is the graceful stop: no more links are taken, and it returns when those in flight are settled and
    /// `onOutcome` has returned for each. A supervisor gives their plugins the time that a drain has; then their outcome
    /// is `abandoned(drain)`, and they do not come again.
    ///
    /// What waits in a ``LinkInbox`` stays there for the next run in the same process, and a link that was taken out and
    /// found the intake closed goes back to its front. From another sequence such a link has the outcome
    /// `abandoned(drain)`.
    ///
    /// While another run takes links out of the same inbox it returns at once, and the log says so.
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
            sink.expect(token, link)
            if await submit(reader.arrival(of: link, token: token), to: intake, sink) {
                await sink.untilFewer(than: Self.maximumInFlight)
                log.tellRefused()
                isStopped = Task.isCancelled
            } else {
                sink.forget(token)
                giveBack(link, to: inbox)
                isStopped = true
            }
            if isStopped { break }
        }
        await sink.untilFewer(than: 1)
        log.ended(isCutShort: !isStopped && !Task.isCancelled)
    }

    /// - Returns: whether the arrival was taken; if not, the run is to end.
    private func submit(_ batch: [Arrival], to intake: any Intake, _ sink: LinkSink) async -> Bool {
        while intake.submit(batch, to: sink) == 0 {
            do throws(SourceClosed) { try await intake.room() } catch { return false }
            if Task.isCancelled { return false }
        }
        return true
    }

    private func giveBack(_ link: String, to inbox: LinkInbox?) {
        if let inbox {
            inbox.putBack(link)
        } else {
            onOutcome(link, .abandoned(.drain))
        }
    }
}

/// Hears what became of the links of one run, on any thread, tells the application, and lets the run wait for it.
final class LinkSink: SettlementSink {
    private struct State {
        var unsettled: [UInt64: String] = [:]
        /// How many are settled while the application is still being told so.
        var telling = 0
        var waiter: (limit: Int, continuation: UnsafeContinuation<Void, Never>)?

        mutating func takeWaiterIfDone() -> UnsafeContinuation<Void, Never>? {
            guard let waiter, unsettled.count + telling < waiter.limit else { return nil }
            self.waiter = nil
            return waiter.continuation
        }
    }

    private let state = Mutex(State())
    private let onOutcome: @Sendable (String, Outcome) -> Void

    init(onOutcome: @escaping @Sendable (String, Outcome) -> Void) {
        self.onOutcome = onOutcome
    }

    /// Called before the link is submitted, as it may be settled from inside that call.
    func expect(_ token: UInt64, _ link: String) {
        state.withLock { $0.unsettled[token] = link }
    }

    /// The link was not taken; nothing will be heard of it.
    func forget(_ token: UInt64) {
        state.withLock { _ = $0.unsettled.removeValue(forKey: token) }
    }

    func mayAcknowledge(_ token: UInt64) {}

    func settle(_ token: UInt64, _ outcome: Outcome) {
        let link = state.withLock { state in
            let link = state.unsettled.removeValue(forKey: token)
            if link != nil { state.telling += 1 }
            return link
        }
        guard let link else { return }
        // Told before the run may return: when it has, the application has heard of all its links.
        onOutcome(link, outcome)
        let waiter = state.withLock { state in
            state.telling -= 1
            return state.takeWaiterIfDone()
        }
        waiter?.resume()
    }

    /// Waits until fewer links than `limit` are in flight: expected, and the application not yet told. For one caller.
    func untilFewer(than limit: Int) async {
        await withUnsafeContinuation { continuation in
            let waiter = state.withLock { state in
                state.waiter = (limit, continuation)
                return state.takeWaiterIfDone()
            }
            waiter?.resume()
        }
    }
}
