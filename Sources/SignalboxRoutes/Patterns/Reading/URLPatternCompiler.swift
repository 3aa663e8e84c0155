/// Reads a URL pattern from left to right: characters, then scheme and host, segments, query.
struct URLPatternCompiler {
    let bytes: [UInt8]
    var root = RouteRoot.anywhere
    var elements: [RouteElement] = []
    var queryCaptures: [QueryCapture] = []
    private var names: Set<String> = []
    var restOffset: Int?

    init(_ text: String) throws(RoutePatternError) {
        guard text.utf8.count <= URLPattern.maximumLength else {
            let detail = "a pattern has at most \(URLPattern.maximumLength) bytes"
            throw RoutePatternError(.tooLong, at: URLPattern.maximumLength, detail)
        }
        bytes = Array(text.utf8)
        guard !bytes.isEmpty else { throw RoutePatternError(.empty, at: 0, "a pattern must not be empty") }
        try checkCharacters()
        let query = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
        let path = try readRoot(upTo: query)
        try readSegments(path..<query)
        if query < bytes.endIndex { try readQuery(query + 1..<bytes.endIndex) }
    }

    private func checkCharacters() throws(RoutePatternError) {
        for (offset, byte) in bytes.enumerated() {
            switch byte {
            case 0...0x20, 0x7F, UInt8(ascii: "\\"):
                throw RoutePatternError(.invalidCharacter, at: offset, "the byte \(byte) is written as an escape, %XX")
            case UInt8(ascii: "#"):
                throw RoutePatternError(.invalidCharacter, at: offset, "a fragment is not matched; leave it out")
            default: continue
            }
        }
    }

    /// Reads what stands before the first segment.
    ///
    /// - Returns: where the segments begin, at most `end`.
    private mutating func readRoot(upTo end: Int) throws(RoutePatternError) -> Int {
        if bytes.first == UInt8(ascii: "/") { return 1 }
        guard let colon = URLReader.schemeEnd(of: bytes), colon < end else {
            throw RoutePatternError(.missingScheme, at: 0, "a scheme and a colon expected, or a slash at the beginning")
        }
        let scheme = String(decoding: bytes[..<colon].map(\.asciiLowercase), as: UTF8.self)
        let start = colon + 1
        if bytes[start..<end].starts(with: "//".utf8) {
            return try readAuthority(of: scheme, start + 2..<end)
        }
        guard URLScheme(scheme.utf8) == .other else {
            throw RoutePatternError(.missingHost, at: start, "// and a host expected behind \(scheme):")
        }
        let isRooted = start < end && bytes[start] == UInt8(ascii: "/")
        root = RouteRoot(form: isRooted ? .rooted : .opaque, scheme: scheme)
        return isRooted ? start + 1 : start
    }

    /// Reads a capture in braces and takes down its name.
    mutating func readCapture(_ range: Range<Int>) throws(RoutePatternError) -> CaptureSyntax {
        let syntax: CaptureSyntax
        do throws(CaptureSyntax.Fault) {
            syntax = try CaptureSyntax(bytes[range])
        } catch {
            throw fault(error, at: range.lowerBound)
        }
        guard names.insert(syntax.name).inserted else {
            let detail = "each capture has a name of its own; {\(syntax.name)} was there before"
            throw RoutePatternError(.duplicateCapture, at: range.lowerBound, detail)
        }
        guard names.count <= URLPattern.maximumCaptures else {
            let detail = "a pattern has at most \(URLPattern.maximumCaptures) captures"
            throw RoutePatternError(.tooManyCaptures, at: range.lowerBound, detail)
        }
        return syntax
    }
}
