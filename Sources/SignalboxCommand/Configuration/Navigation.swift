import NavigationChain
import SignalboxRoutes

/// The `navigation` part of a configuration.
struct NavigationSection: Sendable {
    /// Who is asked, in this order.
    let chain: [NavigationHandlerSection]
    /// What is decided when none of them decides.
    let fallback: NavigationPolicy
    /// How long each may take.
    let handlerDeadline: Duration

    /// The chain whose openers do nothing, and whose reasons say so.
    ///
    /// - Throws: `NavigationChainError` when the handlers do not go together.
    func rehearsal() throws(NavigationChainError) -> NavigationRouter {
        var handlers: [any NavigationHandler] = []
        for section in chain { handlers.append(try section.rehearsal()) }
        return try NavigationRouter(
            handlers,
            fallback: NavigationDecision(fallback, reason: "no handler decided"),
            handlerDeadline: handlerDeadline,
            clock: UntimedClock()
        )
    }
}

/// One entry of a navigation chain.
struct NavigationHandlerSection: Sendable {
    /// Which handler it is, and what it is told.
    enum Kind: Sendable {
        case schemes([String], dangerous: [String])
        case hosts([String], ports: HostPorts, policy: NavigationPolicy)
        case home(URLText, kinds: Set<NavigationKind>)
        case paths([String], hosts: [String]?, kinds: Set<NavigationKind>)
        case deepLinks([String])
        case externalBrowser(ownHosts: [String])
    }

    let kind: Kind
    /// The name in verdicts.
    let name: String

    /// The handler with openers that do nothing; its reasons then say what would be opened.
    ///
    /// - Throws: `NavigationChainError` when it was told what cannot be meant.
    func rehearsal() throws(NavigationChainError) -> any NavigationHandler {
        switch kind {
        case .schemes(let schemes, let dangerous):
            return try SchemeHandler(allowing: schemes, dangerous: dangerous, name: name)
        case .hosts(let hosts, let ports, let policy):
            let decision = NavigationDecision(policy, reason: "the host is listed")
            return try HostHandler(hosts: hosts, ports: ports, decision: decision, name: name)
        case .home(let home, let kinds):
            return RehearsedHandler(try HomePageHandler(home: home, kinds: kinds, name: name) {})
        case .paths(let patterns, let hosts, let kinds):
            let handler = try PathHandler(name: name, patterns: patterns, hosts: hosts, kinds: kinds) { _, _ in }
            return RehearsedHandler(handler)
        case .deepLinks(let schemes):
            return RehearsedHandler(try DeepLinkHandler(schemes: schemes, name: name) { _ in true })
        case .externalBrowser(let hosts):
            return RehearsedHandler(try ExternalBrowserHandler(ownHosts: hosts, name: name) { _ in })
        }
    }
}

/// A handler that opens nothing: what it says it opened would be opened.
struct RehearsedHandler: NavigationHandler {
    private let handler: any NavigationHandler

    init(_ handler: any NavigationHandler) {
        self.handler = handler
    }

    var name: String { handler.name }

    func decide(_ request: NavigationRequest) async throws -> NavigationDecision? {
        try await handler.decide(request).map { NavigationDecision($0.policy, reason: "would be \($0.reason)") }
    }
}

/// A clock on which no deadline ever passes, and a wait ends only when it is cancelled.
///
/// For handlers that open nothing and so never wait. The system's clock keeps a cancelled wait until its time has come,
/// and a million of them take memory.
struct UntimedClock: Clock {
    private let base = ContinuousClock()

    var now: ContinuousClock.Instant { base.now }
    var minimumResolution: Duration { base.minimumResolution }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        let cancelled = FirstAnswer<Void>()
        await withTaskCancellationHandler {
            await withCheckedContinuation { cancelled.wait($0) }
        } onCancel: {
            cancelled.give(())
        }
        throw CancellationError()
    }
}
