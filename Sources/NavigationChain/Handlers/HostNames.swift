import SignalboxRoutes

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
