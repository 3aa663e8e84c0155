extension URLText {
    /// Parses a URL reference, such as a link in a page, and resolves it against a base.
    ///
    /// References are resolved according to the strict form of RFC 3986, section 5.2. If the WHATWG's rules resolve a
    /// reference to a different URL, the reference is rejected as ambiguous.
    ///
    /// - Parameters:
    ///   - reference: An absolute URL, or a reference that begins with a host (`//h`), a path, a query or a fragment.
    ///   - base: The URL of the page that contains the reference.
    /// - Throws: ``URLTextError`` with an offset in the reference.
    public init(_ reference: String, relativeTo base: URLText) throws(URLTextError) {
        let bytes = Array(reference.utf8)
        try URLReader.checkCharacters(bytes)
        if URLReader.schemeEnd(of: bytes) != nil {
            try self.init(reference)
            return
        }
        let shared = try URLText.shared(of: base, with: bytes)
        do throws(URLTextError) {
            try self.init(shared + reference)
        } catch {
            let offset = min(max(0, error.offset - shared.utf8.count), bytes.count)
            throw URLTextError(error.reason, at: offset, error.detail)
        }
    }

    /// Returns the part of the base that comes before the reference in the resolved URL.
    private static func shared(of base: URLText, with reference: [UInt8]) throws(URLTextError) -> String {
        let components = base.components
        if reference.first == UInt8(ascii: "#") { return base.prefix((components.query ?? components.path).upperBound) }
        guard !base.hasOpaquePath else {
            throw URLTextError(.missingScheme, at: 0, "the base URL has no path to resolve a reference against")
        }
        switch reference.first {
        case nil: return base.prefix((components.query ?? components.path).upperBound)
        case UInt8(ascii: "?"): return base.prefix(components.path.upperBound)
        case UInt8(ascii: "/") where reference.starts(with: "//".utf8): return base.prefix(components.schemeEnd + 1)
        case UInt8(ascii: "/"):
            try checkDrive(of: base)
            return base.prefix(components.path.lowerBound)
        default: break
        }
        try checkDrive(of: base)
        let first = reference.prefix { !ByteSet.authorityEnd.contains($0) }
        if let colon = first.firstIndex(of: UInt8(ascii: ":")) {
            throw URLTextError(.ambiguousURL, at: colon, "a colon in the first segment without a scheme before it")
        }
        let path = base.path.utf8
        guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else {
            return base.prefix(components.path.lowerBound) + "/"
        }
        return base.prefix(components.path.lowerBound + path.distance(from: path.startIndex, to: slash) + 1)
    }

    /// Rejects a drive letter in the base. When a path is resolved, the WHATWG's rules keep the drive letter, but RFC
    /// 3986 treats it as an ordinary segment.
    private static func checkDrive(of base: URLText) throws(URLTextError) {
        guard base.scheme == "file", let first = base.segments.first?.utf8, first.count == 2 else { return }
        guard first.first?.isASCIILetter == true, first.last == UInt8(ascii: ":") else { return }
        throw URLTextError(.ambiguousURL, at: 0, "a path that would be resolved against a drive letter")
    }

    private func prefix(_ count: Int) -> String {
        String(Substring(text.utf8.prefix(count)))
    }
}
