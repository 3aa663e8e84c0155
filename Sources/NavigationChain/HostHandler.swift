import SignalboxRoutes

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

/// Which ports of a listed host count.
public struct HostPorts: Sendable, Hashable {
    private enum Rule: Sendable, Hashable {
        case any, standard
        case only(Set<UInt16>)
    }
    private let rule: Rule

    /// All of them.
    public static let any = HostPorts(rule: .any)
    /// The scheme's own: 443 for `https`, 80 for `http`.
    public static let standard = HostPorts(rule: .standard)

    /// These alone. The scheme's own is one of them only where it is listed.
    public static func only(_ ports: Set<UInt16>) -> HostPorts {
        HostPorts(rule: .only(ports))
    }

    func contain(_ url: URLText) -> Bool {
        switch rule {
        case .any: true
        case .standard: url.port == nil
        case .only(let ports): url.origin?.port.map(ports.contains) ?? false
        }
    }
}

/// Hosts from a list in a program or configuration, checked: each alone, or all below one.
struct HostNames: Sendable {
    /// The most hosts of one list.
    static let maximumCount = 1_000
    /// The most bytes of a name in the DNS (RFC 1035, section 2.3.4).
    static let maximumLength = 253

    private struct HostFault: Error {
        let words: String
    }

    private var hosts: Set<String> = []
    private var parents: Set<String> = []

    /// - Parameter texts: `shop.example`, an address, or `*.shop.example`, which is any host below and not the bare one.
    /// - Throws: ``NavigationChainError``, `invalidHost`.
    init(_ texts: [String], handler: String) throws(NavigationChainError) {
        guard !texts.isEmpty, texts.count <= HostNames.maximumCount else {
            throw NavigationChainError(.invalidHost, "1 to \(HostNames.maximumCount) hosts expected", handler: handler)
        }
        for text in texts {
            do throws(HostFault) {
                try add(text)
            } catch {
                throw NavigationChainError(.invalidHost, "\(text) is no host: \(error.words)", handler: handler)
            }
        }
    }

    /// Whether the host, as a URL has it, is listed or below one that is: at a dot, never in the middle of a name.
    func contains(_ host: String) -> Bool {
        if hosts.contains(host) { return true }
        if let address = HostNames.mapped(host) { return hosts.contains(address) }
        guard !parents.isEmpty else { return false }
        // No name in the list is longer, so what is before cannot matter, however long a host a page makes up.
        var rest = host.utf8.suffix(HostNames.maximumLength + 1)
        while let dot = rest.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.index(after: dot)...]
            if parents.contains(String(Substring(rest))) { return true }
        }
        return false
    }

    private mutating func add(_ text: String) throws(HostFault) {
        let isParent = text.utf8.starts(with: "*.".utf8)
        let name = isParent ? String(Substring(text.utf8.dropFirst(2))) : text
        guard name.utf8.count <= HostNames.maximumLength else {
            throw HostFault(words: "a host has at most \(HostNames.maximumLength) bytes")
        }
        let host = try HostNames.read(name)
        if isParent {
            guard !HostNames.isAddress(host) else { throw HostFault(words: "nothing is below an address") }
            parents.insert(host)
        } else {
            hosts.insert(HostNames.mapped(host) ?? host)
        }
    }

    /// The IPv4 address that an IPv6 address of RFC 4291, section 2.5.5.2, stands for: both reach the same machine.
    private static func mapped(_ host: String) -> String? {
        let start = "[::ffff:".utf8
        guard host.utf8.starts(with: start) else { return nil }
        let pieces = host.utf8.dropFirst(start.count).dropLast().split(separator: UInt8(ascii: ":"))
            .compactMap { UInt16(String(Substring($0)), radix: 16) }
        guard pieces.count == 2 else { return nil }
        return pieces.flatMap { [$0 >> 8, $0 & 0xFF] }.map(String.init).joined(separator: ".")
    }

    /// The host in the form in which URLs have it. What a host is, the reader of URLs says.
    private static func read(_ name: String) throws(HostFault) -> String {
        let isBracketed = name.utf8.first == UInt8(ascii: "[") && name.utf8.last == UInt8(ascii: "]")
        guard isBracketed || !name.utf8.contains(UInt8(ascii: ":")), !name.utf8.contains(where: "/?#@\\".utf8.contains)
        else { throw HostFault(words: "give the host alone, without scheme, port and path") }
        let url: URLText
        do throws(URLTextError) {
            url = try URLText("https://\(name)/")
        } catch {
            throw HostFault(words: error.detail)
        }
        guard let host = url.host else { throw HostFault(words: "a host expected") }
        return host
    }

    /// Of a host that was read: only an address ends in a digit's label or a bracket.
    private static func isAddress(_ host: String) -> Bool {
        guard let last = host.utf8.split(separator: UInt8(ascii: ".")).last else { return false }
        return last.last == UInt8(ascii: "]") || last.allSatisfy(\.isASCIIDigit)
    }
}

extension URLText {
    /// The host of a page of the web, or `nil` for every scheme but `http` and `https`.
    var webHost: String? { scheme == "https" || scheme == "http" ? host : nil }
}
