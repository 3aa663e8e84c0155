/// Decides about pages of listed hosts, and passes on all others: a list of what is allowed, or of what is not.
///
/// Only `http` and `https` are its business, in every frame. Both count alike: a ``SchemeHandler`` before it is what keeps
/// `http` out.
public struct HostHandler: SyncNavigationHandler {
    /// The name in verdicts and logs.
    public let name: String
    private let hosts: HostNames
    private let ports: HostPorts
    private let decision: NavigationDecision

    /// A list of hosts, and what is decided about them.
    ///
    /// - Parameters:
    ///   - hosts: 1 to 1,000, in any letter case and ASCII form: `shop.example` is that host alone, `*.shop.example` every
    ///     host below it and not itself; list both if both are meant. An IPv4 address, or an IPv6 address in brackets, is
    ///     a host too. Public suffixes are not known: `*.example` is every host below `example`.
    ///   - ports: which ports of them count.
    ///   - decision: what is decided about the listed hosts: a list of hosts to block gives `.cancel` and leaves `ports`
    ///     as they are.
    ///   - name: the name in verdicts and logs.
    /// - Throws: ``NavigationChainError``, `invalidHost`, for a host with a scheme, port, path or characters beyond ASCII.
    public init(
        hosts: [String],
        ports: HostPorts = .any,
        decision: NavigationDecision = .allow("the host is listed"),
        name: String = "host"
    ) throws(NavigationChainError) {
        self.name = name
        self.hosts = try HostNames(hosts, handler: name)
        self.ports = ports
        self.decision = decision
    }

    /// The decision for a listed host, and `nil` for any other.
    public func decide(_ request: NavigationRequest) -> NavigationDecision? {
        guard let host = request.url.webHost, hosts.contains(host), ports.contain(request.url) else { return nil }
        return decision
    }
}
