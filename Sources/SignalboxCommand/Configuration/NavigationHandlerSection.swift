import NavigationChain
import SignalboxRoutes

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
