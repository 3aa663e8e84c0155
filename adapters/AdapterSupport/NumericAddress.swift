/// An IPv4 or IPv6 address.
package struct NumericAddress {
    /// Whether this is a loopback address: ::1, an address in 127.0.0.0/8, or an IPv4-mapped address in that range.
    package let isLoopback: Bool
    package let isIPv6: Bool
    /// The address as written in a URL, with brackets if it is an IPv6 address.
    package let inURL: String

    /// Parses an address written without brackets, or returns `nil` if the text is not an address.
    package init?(_ text: String) {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            isLoopback = withUnsafeBytes(of: &four) { $0[0] == 127 }
            isIPv6 = false
            inURL = text
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            isLoopback = withUnsafeBytes(of: &six) { bytes in
                let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
                return isMapped ? bytes[12] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
            }
            isIPv6 = true
            inURL = "[\(text)]"
        } else {
            return nil
        }
    }
}

extension NumericAddress {
    /// Returns whether a URL's host is `localhost` (RFC 6761, 6.3) or a loopback address, which may be written in
    /// brackets.
    package static func isLoopback(host: String) -> Bool {
        var host = host.lowercased()
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        if host.hasSuffix(".") { host.removeLast() }
        if host == "localhost" || host.hasSuffix(".localhost") { return true }
        return NumericAddress(host)?.isLoopback ?? false
    }
}

/// The host in a URL: a name, or a numeric address without brackets.
package enum HostName {
    /// Whether the text has 1 to 255 ASCII characters that are allowed in a host.
    package static func isValid(_ host: String) -> Bool {
        (1...255).contains(host.utf8.count)
            && host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"/?#@[]\\%".utf8.contains($0) }
    }
}
