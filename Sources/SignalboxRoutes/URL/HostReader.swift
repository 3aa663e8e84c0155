/// Parses the host of an authority.
struct HostReader {
    let input: [UInt8]
    let range: Range<Int>

    /// Returns the host for a non-special scheme: an RFC 3986 name as written, with non-ASCII letters escaped.
    func registeredName() throws(URLTextError) -> [UInt8] {
        guard input[range].contains(where: { $0 >= 0x80 || $0 == UInt8(ascii: "%") }) else {
            try check(.registeredName)
            return Array(input[range])
        }
        let decoded = try PercentDecoding.checked(input[range])
        guard decoded.allSatisfy({ $0 >= 0x80 || ByteSet.registeredName.contains($0) }) else {
            throw URLTextError(
                .invalidHost,
                at: range.lowerBound,
                "a character, perhaps escaped, that is not allowed in a host"
            )
        }
        let name = HostName.normalized(String(decoding: decoded, as: UTF8.self))
        guard InternationalLabel.isText(Array(name.lowercased().unicodeScalars)) else {
            throw URLTextError(
                .invalidHost,
                at: range.lowerBound,
                "a host with characters other than letters, marks and digits in composed form"
            )
        }
        var written: [UInt8] = []
        for byte in input[range] {
            guard byte >= 0x80 else {
                written.append(byte)
                continue
            }
            written += [UInt8(ascii: "%"), UInt8.upperHexDigits[Int(byte >> 4)], UInt8.upperHexDigits[Int(byte & 15)]]
        }
        return written
    }

    /// Returns the host for a special scheme, which is a lowercase domain or an IPv4 address.
    func domain(isFile: Bool) throws(URLTextError) -> [UInt8] {
        try check(.domain)
        let domain = input[range].map(\.asciiLowercase)
        if isFile {
            guard domain != Array("localhost".utf8) else {
                throw URLTextError(.ambiguousURL, at: range.lowerBound, "localhost in a file URL, which engines drop")
            }
            if domain.isEmpty { return [] }
        }
        let start = try lastLabel(of: domain)
        if HostReader.looksLikeNumber(domain[start...]) {
            guard HostReader.isFourNumbers(domain) else {
                let detail = "a host that ends in a number but is not four numbers up to 255 without leading zeros"
                throw URLTextError(.ambiguousURL, at: range.lowerBound, detail)
            }
            return domain
        }
        // Most domains have no hyphen, so they do not have to be split into labels.
        guard !domain.contains(UInt8(ascii: "-")) || InternationalLabel.areValid(HostReader.labels(of: domain)) else {
            throw URLTextError(.invalidHost, at: range.lowerBound, "a label with xn-- that does not encode a name")
        }
        return domain
    }

    /// Returns the start of the last label.
    private func lastLabel(of domain: [UInt8]) throws(URLTextError) -> Int {
        var start = 0
        for index in domain.indices where domain[index] == UInt8(ascii: ".") {
            guard index > start else { throw emptyLabel }
            start = index + 1
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

    /// Returns an IPv6 address in brackets, in the form of RFC 5952.
    func address() throws(URLTextError) -> [UInt8] {
        let inside = range.lowerBound + 1..<max(range.lowerBound + 1, range.upperBound - 1)
        guard let address = AddressText(ipv6: input[inside]) else {
            throw URLTextError(.invalidHost, at: range.lowerBound, "expected an IPv6 address in the brackets")
        }
        return Array("[\(address)]".utf8)
    }

    private func check(_ allowed: ByteSet) throws(URLTextError) {
        for index in range where !allowed.contains(input[index]) {
            switch input[index] {
            case 0x80...:
                throw URLTextError(.internationalHost, at: index, "write the host in its ASCII form, with xn--")
            case UInt8(ascii: "%"):
                throw URLTextError(.ambiguousURL, at: index, "an escape in the host")
            default:
                throw URLTextError(.invalidHost, at: index, "a character that is not allowed in a host")
            }
        }
    }

    /// Returns whether the host "ends in a number" as defined by the WHATWG, and is therefore an address in some
    /// notation.
    private static func looksLikeNumber(_ label: ArraySlice<UInt8>) -> Bool {
        if label.allSatisfy(\.isASCIIDigit) { return true }
        return label.starts(with: "0x".utf8) && label.dropFirst(2).allSatisfy { $0.hexValue != nil }
    }

    private static func isFourNumbers(_ domain: [UInt8]) -> Bool {
        let labels = labels(of: domain)
        return labels.count == 4 && labels.allSatisfy { AddressText.decimalByte($0) != nil }
    }
}

/// An IPv6 address of eight pieces, parsed according to RFC 4291, section 2.2, and formatted according to RFC 5952,
/// section 4.
struct AddressText: CustomStringConvertible {
    private let pieces: [UInt16]

    /// Parses an address. Zones are not supported.
    ///
    /// - Returns: `nil` if the text is not an address.
    init?(ipv6 text: ArraySlice<UInt8>) {
        let colon = UInt8(ascii: ":")
        guard text.count <= 45 else { return nil }
        var gap: Int?
        var pieces: [UInt16] = []
        var rest = text
        if rest.starts(with: "::".utf8) {
            gap = 0
            rest = rest.dropFirst(2)
        }
        while !rest.isEmpty {
            let piece = rest.prefix { $0 != colon }
            rest = rest.dropFirst(piece.count)
            if rest.isEmpty, piece.contains(UInt8(ascii: ".")) {
                guard let last = AddressText.embedded(piece) else { return nil }
                pieces += last
                break
            }
            guard let value = AddressText.hexadecimal(piece) else { return nil }
            pieces.append(value)
            guard pieces.count <= 8, !rest.isEmpty else { break }
            rest = rest.dropFirst()
            if rest.first == colon {
                guard gap == nil else { return nil }
                gap = pieces.count
                rest = rest.dropFirst()
            } else if rest.isEmpty {
                return nil
            }
        }
        guard gap == nil ? pieces.count == 8 : pieces.count < 8 else { return nil }
        if let gap { pieces.insert(contentsOf: repeatElement(0, count: 8 - pieces.count), at: gap) }
        self.pieces = pieces
    }

    /// The address, with its longest run of two or more zero pieces omitted. If several runs have this length, the
    /// first one is omitted.
    var description: String {
        let zeros = longestRunOfZeros
        guard let zeros else { return AddressText.text(pieces[...]) }
        return "\(AddressText.text(pieces[..<zeros.lowerBound]))::\(AddressText.text(pieces[zeros.upperBound...]))"
    }

    private var longestRunOfZeros: Range<Int>? {
        var longest: Range<Int>?
        var start = 0
        for index in 0...pieces.count where index == pieces.count || pieces[index] != 0 {
            if index - start > max(longest?.count ?? 0, 1) { longest = start..<index }
            start = index + 1
        }
        return longest
    }

    private static func text(_ pieces: ArraySlice<UInt16>) -> String {
        pieces.map { String($0, radix: 16) }.joined(separator: ":")
    }

    private static func hexadecimal(_ digits: ArraySlice<UInt8>) -> UInt16? {
        guard (1...4).contains(digits.count) else { return nil }
        var value: UInt16 = 0
        for digit in digits {
            guard let part = digit.hexValue else { return nil }
            value = value << 4 | UInt16(part)
        }
        return value
    }

    private static func embedded(_ text: ArraySlice<UInt8>) -> [UInt16]? {
        let bytes = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(decimalByte)
        guard bytes.count == 4, let first = bytes[0], let second = bytes[1], let third = bytes[2], let fourth = bytes[3]
        else { return nil }
        return [UInt16(first) << 8 | UInt16(second), UInt16(third) << 8 | UInt16(fourth)]
    }

    /// Returns the value of a number up to 255. Leading zeros are rejected, because some parsers read them as octal.
    static func decimalByte(_ digits: ArraySlice<UInt8>) -> UInt8? {
        guard (1...3).contains(digits.count), digits.allSatisfy(\.isASCIIDigit) else { return nil }
        guard digits.count == 1 || digits.first != UInt8(ascii: "0") else { return nil }
        return UInt8(String(decoding: digits, as: UTF8.self))
    }
}
