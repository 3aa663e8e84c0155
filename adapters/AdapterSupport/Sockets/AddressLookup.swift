/// Why a host name has no addresses.
package struct LookupFailure: Error, Sendable, Hashable {
    /// The reason, as the end of a sentence.
    package let reason: String

    package init(_ reason: String) {
        self.reason = reason
    }
}

/// Resolves host names to numeric addresses.
package enum AddressLookup {
    /// The maximum number of addresses to try for one host.
    package static let limit = 16

    /// Returns the host's addresses in the system's order of preference (RFC 6724), which usually puts IPv6 before
    /// IPv4.
    ///
    /// This function queries the name server, so it may block for many seconds.
    ///
    /// - Throws: ``LookupFailure``.
    package static func addresses(of host: String) throws(LookupFailure) -> [String] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = StreamSocket.type
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        guard code == 0 else { throw LookupFailure(String(cString: gai_strerror(code))) }
        defer { freeaddrinfo(list) }
        var found: [String] = []
        var entry = list
        while let current = entry, found.count < limit {
            entry = current.pointee.ai_next
            guard let text = numericText(current.pointee), !found.contains(text) else { continue }
            found.append(text)
        }
        guard !found.isEmpty else { throw LookupFailure("the host has no address") }
        return found
    }

    private static func numericText(_ entry: addrinfo) -> String? {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let flags = NI_NUMERICHOST
        guard
            getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, flags) == 0
        else { return nil }
        let numeric = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // Skip link-local addresses with a zone name, which `NumericAddress` rejects.
        return NumericAddress(numeric) == nil ? nil : numeric
    }
}
