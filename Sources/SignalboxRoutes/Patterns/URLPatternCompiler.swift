/// Parses a URL pattern by first checking the characters and then reading the scheme and host, the segments, and the
/// query.
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
                throw RoutePatternError(.invalidCharacter, at: offset, "the byte \(byte) must be percent-encoded, %XX")
            case UInt8(ascii: "#"):
                throw RoutePatternError(.invalidCharacter, at: offset, "fragments are not matched; leave it out")
            default: continue
            }
        }
    }

    /// Reads the part before the first segment.
    ///
    /// - Returns: The start of the segments, at most `end`.
    private mutating func readRoot(upTo end: Int) throws(RoutePatternError) -> Int {
        if bytes.first == UInt8(ascii: "/") { return 1 }
        guard let colon = URLReader.schemeEnd(of: bytes), colon < end else {
            throw RoutePatternError(.missingScheme, at: 0, "expected a scheme and a colon, or a leading slash")
        }
        let scheme = String(decoding: bytes[..<colon].map(\.asciiLowercase), as: UTF8.self)
        let start = colon + 1
        if bytes[start..<end].starts(with: "//".utf8) {
            return try readAuthority(of: scheme, start + 2..<end)
        }
        guard URLScheme(scheme.utf8) == .other else {
            throw RoutePatternError(.missingHost, at: start, "expected // and a host after \(scheme):")
        }
        let isRooted = start < end && bytes[start] == UInt8(ascii: "/")
        root = RouteRoot(form: isRooted ? .rooted : .opaque, scheme: scheme, port: nil)
        return isRooted ? start + 1 : start
    }

    /// Reads a capture in braces and records its name.
    mutating func readCapture(_ range: Range<Int>) throws(RoutePatternError) -> CaptureSyntax {
        let syntax: CaptureSyntax
        do throws(CaptureSyntax.SyntaxError) {
            syntax = try CaptureSyntax(bytes[range])
        } catch {
            throw patternError(for: error, at: range.lowerBound)
        }
        guard names.insert(syntax.name).inserted else {
            let detail = "capture names must be unique; {\(syntax.name)} is used twice"
            throw RoutePatternError(.duplicateCapture, at: range.lowerBound, detail)
        }
        guard names.count <= URLPattern.maximumCaptures else {
            let detail = "a pattern has at most \(URLPattern.maximumCaptures) captures"
            throw RoutePatternError(.tooManyCaptures, at: range.lowerBound, detail)
        }
        return syntax
    }
}

extension URLPatternCompiler {
    /// Reads the host and the port, and returns the start of the segments.
    mutating func readAuthority(of scheme: String, _ range: Range<Int>) throws(RoutePatternError) -> Int {
        let end = bytes[range].firstIndex(of: UInt8(ascii: "/")) ?? range.upperBound
        let authority = range.lowerBound..<end
        let port: UInt16?
        if bytes[authority].contains(where: CaptureSyntax.isBrace) {
            port = try readHostCapture(of: scheme, authority)
        } else {
            port = try readHost(of: scheme, authority)
        }
        root = RouteRoot(form: .authority, scheme: scheme, port: port)
        return min(end + 1, range.upperBound)
    }

    /// Parses the host as part of a ``URLText``, so that it has the same normal form as a URL's host.
    private mutating func readHost(of scheme: String, _ authority: Range<Int>) throws(RoutePatternError) -> UInt16? {
        let kind = URLScheme(scheme.utf8)
        guard !authority.isEmpty || kind == .file || kind == .other else {
            throw RoutePatternError(.missingHost, at: authority.lowerBound, "expected a host after \(scheme)://")
        }
        let url = try readURL(authority, behind: scheme + "://")
        guard url.userInfo == nil else {
            throw RoutePatternError(.invalidHost, at: authority.lowerBound, "a user name before the host; leave it out")
        }
        elements.append(.literal((url.decodedHost ?? "").lowercased()))
        return url.port
    }

    private mutating func readHostCapture(
        of scheme: String,
        _ authority: Range<Int>
    ) throws(RoutePatternError) -> UInt16? {
        guard URLScheme(scheme.utf8) == .other else {
            let detail = "\(scheme) needs a literal host: a capture would accept any site"
            throw RoutePatternError(.anyHost, at: authority.lowerBound, detail)
        }
        let end = (bytes[authority].lastIndex(of: UInt8(ascii: "}")) ?? authority.lowerBound) + 1
        let kind = try addCapture(authority.lowerBound..<end)
        guard kind == .text || kind == .rest else {
            let detail = "a host capture is {name} or {name...}, without a kind"
            throw RoutePatternError(.kindNotAllowed, at: authority.lowerBound, detail)
        }
        guard end < authority.upperBound else { return nil }
        if kind == .rest { throw restNotLast(authority.lowerBound) }
        guard bytes[end] == UInt8(ascii: ":") else { throw captureNotAlone(authority.lowerBound) }
        return try readURL(end..<authority.upperBound, behind: scheme + "://h").port
    }

    private func readURL(_ range: Range<Int>, behind start: String) throws(RoutePatternError) -> URLText {
        do throws(URLTextError) {
            return try URLText(start + String(decoding: bytes[range], as: UTF8.self) + "/")
        } catch {
            let reason: RoutePatternError.Reason = error.reason == .invalidPort ? .invalidPort : .invalidHost
            let offset = range.lowerBound + max(0, error.offset - start.utf8.count)
            throw RoutePatternError(reason, at: min(offset, range.upperBound), error.detail)
        }
    }
}

extension URLPatternCompiler {
    /// Reads the segments.
    ///
    /// - Parameter range: The part after the first slash, or all of an opaque path.
    mutating func readSegments(_ range: Range<Int>) throws(RoutePatternError) {
        var start = range.lowerBound
        while start < range.upperBound {
            let end = bytes[start..<range.upperBound].firstIndex(of: UInt8(ascii: "/")) ?? range.upperBound
            try readSegment(start..<end)
            start = end + 1
        }
    }

    private mutating func readSegment(_ range: Range<Int>) throws(RoutePatternError) {
        if let restOffset { throw restNotLast(restOffset) }
        guard !range.isEmpty else {
            throw RoutePatternError(.emptySegment, at: range.lowerBound, "text or a capture expected between slashes")
        }
        if bytes[range].contains(where: CaptureSyntax.isBrace) {
            _ = try addCapture(range)
            return
        }
        let text = String(decoding: try decode(range), as: UTF8.self)
        guard text != ".", text != ".." else {
            throw RoutePatternError(.dotSegment, at: range.lowerBound, "a URL has no . or .. segment")
        }
        elements.append(.literal(text))
    }

    /// Adds a capture and returns its kind.
    mutating func addCapture(_ range: Range<Int>) throws(RoutePatternError) -> CaptureKind {
        let syntax = try readCapture(range)
        if syntax.kind == .rest { restOffset = range.lowerBound }
        elements.append(.capture(name: syntax.name, kind: syntax.kind))
        return syntax.kind
    }

    private func decode(_ range: Range<Int>) throws(RoutePatternError) -> [UInt8] {
        do throws(URLTextError) {
            return try PercentDecoding.checked(bytes[range])
        } catch {
            throw RoutePatternError(.invalidEscape, at: error.offset, error.detail)
        }
    }
}

extension URLPatternCompiler {
    /// Reads the captures in the query.
    ///
    /// - Parameter range: The part after the `?`.
    mutating func readQuery(_ range: Range<Int>) throws(RoutePatternError) {
        var start = range.lowerBound
        repeat {
            let end = bytes[start..<range.upperBound].firstIndex(of: UInt8(ascii: "&")) ?? range.upperBound
            try readItem(start..<end)
            start = end + 1
        } while start <= range.upperBound
    }

    private mutating func readItem(_ range: Range<Int>) throws(RoutePatternError) {
        guard let equals = bytes[range].firstIndex(of: UInt8(ascii: "=")), equals > range.lowerBound else {
            throw invalidQuery(range.lowerBound)
        }
        let value = equals + 1..<range.upperBound
        guard bytes[value].contains(where: CaptureSyntax.isBrace) else { throw invalidQuery(range.lowerBound) }
        guard !bytes[range.lowerBound..<equals].contains(where: CaptureSyntax.isBrace) else {
            throw captureNotAlone(range.lowerBound)
        }
        let syntax = try readCapture(value)
        guard syntax.kind == .text else {
            throw RoutePatternError(.kindNotAllowed, at: value.lowerBound, "query values are text: write {name}")
        }
        let item = try decodeItem(range.lowerBound..<equals)
        guard !queryCaptures.contains(where: { $0.item == item }) else {
            throw RoutePatternError(.duplicateItem, at: range.lowerBound, "a query item must be named only once")
        }
        queryCaptures.append(QueryCapture(item: item, name: syntax.name))
    }

    private func decodeItem(_ range: Range<Int>) throws(RoutePatternError) -> String {
        do throws(URLTextError) {
            return try PercentDecoding.formText(bytes[range])
        } catch {
            throw RoutePatternError(.invalidEscape, at: error.offset, error.detail)
        }
    }

    private func invalidQuery(_ offset: Int) -> RoutePatternError {
        let detail = "expected item={name}, separated by &: a query captures items and does not affect the match"
        return RoutePatternError(.invalidQuery, at: offset, detail)
    }
}

extension URLPatternCompiler {
    func restNotLast(_ offset: Int) -> RoutePatternError {
        RoutePatternError(.restNotLast, at: offset, "only the query may follow {name...}")
    }

    func captureNotAlone(_ offset: Int) -> RoutePatternError {
        patternError(for: .notAlone, at: offset)
    }

    func patternError(for error: CaptureSyntax.SyntaxError, at offset: Int) -> RoutePatternError {
        switch error {
        case .notAlone:
            let detail = "a capture is a whole host, segment or value; write a literal brace as %7B or %7D"
            return RoutePatternError(.captureNotAlone, at: offset, detail)
        case .invalidName:
            let detail = "a capture's name is [A-Za-z][A-Za-z0-9_]*, at most \(URLPattern.maximumNameLength) bytes"
            return RoutePatternError(.invalidCaptureName, at: offset, detail)
        case .unknownKind:
            return RoutePatternError(.unknownKind, at: offset, "the kinds are {name:int} and {name:uuid}")
        }
    }
}
