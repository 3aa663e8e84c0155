/// Reads the host of an authority.
struct HostReader {
    let input: [UInt8]
    let range: Range<Int>

    /// The host of a scheme that is not special: an RFC 3986 name without escapes, as it is written.
    func registeredName() throws(URLTextError) -> [UInt8] {
        try check(.registeredName)
        return Array(input[range])
    }

    /// The host of a special scheme: a domain in lower case, or an IPv4 address.
    func domain(isFile: Bool) throws(URLTextError) -> [UInt8] {
        try check(.domain)
        let domain = input[range].map(\.asciiLowercase)
        if isFile {
            guard domain != Array("localhost".utf8) else {
                throw URLTextError(.ambiguousURL, at: range.lowerBound, "a file's host localhost, which engines drop")
            }
            if domain.isEmpty { return [] }
        }
        let start = try lastLabel(of: domain)
        if HostReader.looksLikeNumber(domain[start...]) {
            guard HostReader.isFourNumbers(domain) else {
                let detail = "a host that ends in a number, and is not four numbers up to 255 without leading zeros"
                throw URLTextError(.ambiguousURL, at: range.lowerBound, detail)
            }
            return domain
        }
        // Most domains have none, and need not be taken apart.
        guard !domain.contains(UInt8(ascii: "-")) || InternationalLabel.areValid(HostReader.labels(of: domain)) else {
            throw URLTextError(.invalidHost, at: range.lowerBound, "a label with xn-- that stands for no name")
        }
        return domain
    }

    /// Where the last label begins.
    private func lastLabel(of domain: [UInt8]) throws(URLTextError) -> Int {
        var start = 0
        for place in domain.indices where domain[place] == UInt8(ascii: ".") {
            guard place > start else { throw emptyLabel }
            start = place + 1
        }
        guard start < domain.count else { throw emptyLabel }
        return start
    }

    private var emptyLabel: URLTextError {
        URLTextError(.invalidHost, at: range.lowerBound, "a host that begins or ends with a dot, or has two in a row")
    }

    private static func labels(of domain: [UInt8]) -> [ArraySlice<UInt8>] {
        domain.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    }

    /// An IPv6 address in brackets, in the form of RFC 5952.
    func address() throws(URLTextError) -> [UInt8] {
        let inside = range.lowerBound + 1..<max(range.lowerBound + 1, range.upperBound - 1)
        guard let address = AddressText(ipv6: input[inside]) else {
            throw URLTextError(.invalidHost, at: range.lowerBound, "an IPv6 address expected in the brackets")
        }
        return Array("[\(address)]".utf8)
    }

    private func check(_ allowed: ByteSet) throws(URLTextError) {
        for place in range where !allowed.contains(input[place]) {
            switch input[place] {
            case 0x80...:
                throw URLTextError(.internationalHost, at: place, "write the host in its ASCII form, with xn--")
            case UInt8(ascii: "%"):
                throw URLTextError(.ambiguousURL, at: place, "an escape in the host")
            default:
                throw URLTextError(.invalidHost, at: place, "a character that no host has")
            }
        }
    }

    /// The WHATWG's "ends in a number": such a host is an address, in whatever form.
    private static func looksLikeNumber(_ label: ArraySlice<UInt8>) -> Bool {
        if label.allSatisfy(\.isASCIIDigit) { return true }
        return label.starts(with: "0x".utf8) && label.dropFirst(2).allSatisfy { $0.hexValue != nil }
    }

    private static func isFourNumbers(_ domain: [UInt8]) -> Bool {
        let labels = labels(of: domain)
        return labels.count == 4 && labels.allSatisfy { AddressText.decimalByte($0) != nil }
    }
}
