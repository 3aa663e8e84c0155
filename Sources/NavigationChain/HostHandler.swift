import SignalboxRoutes

/// Decides on requests for pages on the listed hosts, and passes on all other requests. Use it as an allowlist or a
/// blocklist.
///
/// The handler decides on `http` and `https` URLs in every frame, and treats both schemes alike. To exclude `http`, put
/// a ``SchemeHandler`` before this handler.
public struct HostHandler: SyncNavigationHandler {
    /// The name in verdicts and logs.
    public let name: String
    private let hosts: HostNames
    private let ports: HostPorts
    private let decision: NavigationDecision

    /// Creates a handler from a list of hosts and the decision to make for their pages.
    ///
    /// - Parameters:
    ///   - hosts: Between 1 and 1,000 hosts in ASCII form. Letter case is ignored. `shop.example` stands for that host
    ///     only, and `*.shop.example` for every host below it, but not for the host itself. You can also list an IPv4
    ///     address, or an IPv6 address in brackets. The handler does not know public suffixes, so `*.example` matches
    ///     every host below `example`.
    ///   - ports: The ports to include for each host.
    ///   - decision: The decision to make for pages on the listed hosts. For a blocklist, pass `.cancel` and leave
    ///     `ports` unchanged.
    ///   - name: The name in verdicts and logs.
    /// - Throws: ``NavigationChainError`` with the code `invalidHost` if a host includes a scheme, a port, a path or
    ///   non-ASCII characters.
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

    /// Returns the decision for a listed host, or `nil` for any other host.
    public func decide(_ request: NavigationRequest) -> NavigationDecision? {
        guard let host = request.url.webHost, hosts.contains(host), ports.contain(request.url) else { return nil }
        return decision
    }
}

/// The ports that a ``HostHandler`` includes for each listed host.
public struct HostPorts: Sendable, Hashable {
    private enum Rule: Sendable, Hashable {
        case any, standard
        case only(Set<UInt16>)
    }
    private let rule: Rule

    /// All ports.
    public static let any = HostPorts(rule: .any)
    /// The scheme's default port: 443 for `https` and 80 for `http`.
    public static let standard = HostPorts(rule: .standard)

    /// Includes only the given ports. A scheme's default port is included only if you list it.
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

/// A validated list of hosts from a program or configuration. Each entry is either a single host or a parent that
/// stands for all hosts below it.
struct HostNames: Sendable {
    /// The maximum number of hosts in a list.
    static let maximumCount = 1_000
    /// The maximum length of a DNS name in bytes (RFC 1035, section 2.3.4).
    static let maximumLength = 253

    private struct HostError: Error {
        let detail: String
    }

    private var hosts: Set<String> = []
    private var parents: Set<String> = []

    /// Creates a list.
    ///
    /// - Parameter texts: Hosts such as `shop.example`, addresses, or `*.shop.example` for any host below
    ///   `shop.example`.
    /// - Throws: ``NavigationChainError`` with the code `invalidHost`.
    init(_ texts: [String], handler: String) throws(NavigationChainError) {
        guard !texts.isEmpty, texts.count <= HostNames.maximumCount else {
            throw NavigationChainError(.invalidHost, "expected 1 to \(HostNames.maximumCount) hosts", handler: handler)
        }
        for text in texts {
            do throws(HostError) {
                try add(text)
            } catch {
                throw NavigationChainError(.invalidHost, "\(text) is not a host: \(error.detail)", handler: handler)
            }
        }
    }

    /// Returns whether a URL's host is listed or is below a listed parent. Only whole labels are compared.
    func contains(_ host: String) -> Bool {
        if hosts.contains(host) { return true }
        if let address = HostNames.mapped(host) { return hosts.contains(address) }
        guard !parents.isEmpty else { return false }
        // No listed name is longer than this, so earlier bytes cannot match. The limit bounds the work for an overlong
        // host.
        var rest = host.utf8.suffix(HostNames.maximumLength + 1)
        while let dot = rest.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.index(after: dot)...]
            if parents.contains(String(Substring(rest))) { return true }
        }
        return false
    }

    private mutating func add(_ text: String) throws(HostError) {
        let isParent = text.utf8.starts(with: "*.".utf8)
        let name = isParent ? String(Substring(text.utf8.dropFirst(2))) : text
        guard name.utf8.count <= HostNames.maximumLength else {
            throw HostError(detail: "a host has at most \(HostNames.maximumLength) bytes")
        }
        let host = try HostNames.read(name)
        if isParent {
            guard !HostNames.isAddress(host) else { throw HostError(detail: "an address has no subdomains") }
            parents.insert(host)
        } else {
            hosts.insert(HostNames.mapped(host) ?? host)
        }
    }

    /// Returns the IPv4 address in an IPv4-mapped IPv6 address (RFC 4291, section 2.5.5.2), because both addresses
    /// reach the same machine.
    private static func mapped(_ host: String) -> String? {
        let start = "[::ffff:".utf8
        guard host.utf8.starts(with: start) else { return nil }
        let pieces = host.utf8.dropFirst(start.count).dropLast().split(separator: UInt8(ascii: ":"))
            .compactMap { UInt16(String(Substring($0)), radix: 16) }
        guard pieces.count == 2 else { return nil }
        return pieces.flatMap { [$0 >> 8, $0 & 0xFF] }.map(String.init).joined(separator: ".")
    }

    /// Returns the host in the form in which it appears in URLs. `URLText` determines whether the host is valid.
    private static func read(_ name: String) throws(HostError) -> String {
        let isBracketed = name.utf8.first == UInt8(ascii: "[") && name.utf8.last == UInt8(ascii: "]")
        guard isBracketed || !name.utf8.contains(UInt8(ascii: ":")), !name.utf8.contains(where: "/?#@\\".utf8.contains)
        else { throw HostError(detail: "give the host alone, without scheme, port and path") }
        let url: URLText
        do throws(URLTextError) {
            url = try URLText("https://\(name)/")
        } catch {
            throw HostError(detail: error.detail)
        }
        guard let host = url.host else { throw HostError(detail: "expected a host") }
        return host
    }

    /// Returns whether a parsed host is an address. Only addresses end in a numeric label or a bracket.
    private static func isAddress(_ host: String) -> Bool {
        guard let last = host.utf8.split(separator: UInt8(ascii: ".")).last else { return false }
        return last.last == UInt8(ascii: "]") || last.allSatisfy(\.isASCIIDigit)
    }
}

extension URLText {
    /// The host of a web page, or `nil` if the scheme is not `http` or `https`.
    var webHost: String? { scheme == "https" || scheme == "http" ? host : nil }
}
