import AdapterSupport
import NavigationChain
import SignalboxRoutes

/// The `navigation` part of a configuration.
struct NavigationSection: Sendable {
    /// The handlers, in the order in which they are called.
    let chain: [NavigationHandlerSection]
    /// The policy for a URL that no handler decides.
    let fallback: NavigationPolicy
    /// The time limit of each handler.
    let handlerDeadline: Duration

    /// Returns a chain that opens nothing; its reasons name what would be opened.
    ///
    /// - Throws: `NavigationChainError` if the handlers conflict.
    func dryRun() throws(NavigationChainError) -> NavigationRouter {
        var handlers: [any NavigationHandler] = []
        for section in chain { handlers.append(try section.dryRun()) }
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
    /// The kind of handler and its settings.
    enum Kind: Sendable {
        case schemes([String], dangerous: [String])
        case hosts([String], ports: HostPorts, policy: NavigationPolicy)
        case home(URLText, kinds: Set<NavigationKind>)
        case paths([String], hosts: [String]?, kinds: Set<NavigationKind>)
        case deepLinks([String])
        case externalBrowser(ownHosts: [String])
    }

    let kind: Kind
    /// The name in verdicts, unique in the chain.
    let name: String

    /// Returns a handler that opens nothing; its reasons name what would be opened.
    ///
    /// - Throws: `NavigationChainError` if a setting is invalid.
    func dryRun() throws(NavigationChainError) -> any NavigationHandler {
        switch kind {
        case .schemes(let schemes, let dangerous):
            return try SchemeHandler(allowing: schemes, dangerous: dangerous, name: name)
        case .hosts(let hosts, let ports, let policy):
            let decision = NavigationDecision(policy, reason: "the host is listed")
            return try HostHandler(hosts: hosts, ports: ports, decision: decision, name: name)
        case .home(let home, let kinds):
            return DryRunHandler(try HomePageHandler(home: home, kinds: kinds, name: name) {})
        case .paths(let patterns, let hosts, let kinds):
            let handler = try PathHandler(name: name, patterns: patterns, hosts: hosts, kinds: kinds) { _, _ in }
            return DryRunHandler(handler)
        case .deepLinks(let schemes):
            return DryRunHandler(try DeepLinkHandler(schemes: schemes, name: name) { _ in true })
        case .externalBrowser(let hosts):
            return DryRunHandler(try ExternalBrowserHandler(ownHosts: hosts, name: name) { _ in })
        }
    }
}

/// A handler whose openers do nothing and whose reasons say what would be opened.
struct DryRunHandler: NavigationHandler {
    private let handler: any NavigationHandler

    init(_ handler: any NavigationHandler) {
        self.handler = handler
    }

    var name: String { handler.name }

    func decide(_ request: NavigationRequest) async throws -> NavigationDecision? {
        try await handler.decide(request).map { NavigationDecision($0.policy, reason: "would be \($0.reason)") }
    }
}

/// A clock on which no deadline passes; a sleep ends only when it is cancelled.
///
/// It serves handlers that open nothing and therefore never wait. `ContinuousClock` keeps a cancelled sleep until its
/// deadline, so a million of them take up memory.
struct UntimedClock: Clock {
    private let base = ContinuousClock()

    var now: ContinuousClock.Instant { base.now }
    var minimumResolution: Duration { base.minimumResolution }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        _ = await Promise<Void>().valueUnlessCancelled()
        throw CancellationError()
    }
}
