/// Which URLs a route is for, and what it names in them.
///
/// | pattern | URLs |
/// |---|---|
/// | `myapp://product/{id:int}` | that host, then one segment |
/// | `myapp:///product/{id}` | an empty host |
/// | `myapp:/product/{id}` | no host, and a slash |
/// | `myapp:product/{id}` | no host and no slash: an opaque path |
/// | `/product/{id}` | any scheme and host, but no opaque path |
///
/// Each form matches URLs that are written the same way. Scheme and host are compared without letter case, segments
/// byte by byte after they were decoded once. `?q={term}` names an item of the query, which never decides whether the
/// pattern matches. <doc:Patterns> has the whole grammar.
public struct URLPattern: Sendable {
    /// The most bytes of UTF-8 that a pattern may have.
    public static let maximumLength = 4_096
    /// The most captures of one pattern, those of the query included.
    public static let maximumCaptures = 64
    /// The most bytes of a capture's name.
    public static let maximumNameLength = 64

    /// The pattern as it was given.
    public let text: String
    /// The items of the query that have names, from left to right; empty when the pattern has no `?`.
    public let queryCaptures: [QueryCapture]
    let root: RouteRoot
    let elements: [RouteElement]

    /// Reads a pattern that came from a program or a configuration.
    ///
    /// - Throws: ``RoutePatternError``: what is wrong and at which byte.
    public init(_ text: String) throws(RoutePatternError) {
        let compiler = try URLPatternCompiler(text)
        self.text = text
        root = compiler.root
        elements = compiler.elements
        queryCaptures = compiler.queryCaptures
    }

    /// The scheme in lower case, or `nil` when the pattern begins with a slash and is for any.
    public var scheme: String? { root.form == .anywhere ? nil : root.scheme }

    /// The names of all captures, from left to right: of host, path and query.
    public var captureNames: [String] { elements.compactMap(\.name) + queryCaptures.map(\.name) }

    /// The captures of host and path, when the URL is one of the pattern's.
    ///
    /// Time grows with the length of pattern and URL alone. Query and fragment are not looked at.
    ///
    /// - Returns: `nil` when the URL does not match; no captures when the pattern names nothing before its `?`.
    public func match(_ url: URLText) -> RouteCaptures? {
        guard root.covers(RouteRoot(of: url)) else { return nil }
        let pieces = URLPieces(url)
        return matches(pieces) ? captures(in: pieces) : nil
    }

    private func matches(_ pieces: URLPieces) -> Bool {
        var position = root.firstPosition
        for element in elements {
            if case .capture(_, .rest) = element { return pieces.allowsRest(from: position) }
            guard position < pieces.end else { return false }
            switch element {
            case .literal(let text):
                guard pieces.comparable(at: position).utf8.elementsEqual(text.utf8) else { return false }
            case .capture(_, let kind):
                let piece = pieces[position].utf8
                guard !piece.isEmpty, kind.accepts(piece) else { return false }
            }
            position += 1
        }
        return position == pieces.end
    }

    /// The captures of a URL that matches.
    func captures(in pieces: URLPieces) -> RouteCaptures {
        var found: [RouteCapture] = []
        for (index, element) in elements.enumerated() {
            guard case .capture(let name, let kind) = element else { continue }
            let position = root.firstPosition + index
            let value = kind == .rest ? pieces.rest(from: position) : pieces[position]
            found.append(RouteCapture(name: name, value: value, kind: kind))
        }
        return RouteCaptures(found)
    }
}

extension URLPattern: Hashable {
    /// Equal when the bytes of the texts are. Two patterns that differ may match the same URLs.
    public static func == (left: URLPattern, right: URLPattern) -> Bool {
        ByteText(left.text) == ByteText(right.text)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ByteText(text))
    }
}

extension URLPattern: CustomStringConvertible {
    /// The pattern as it was given. It has no control characters.
    public var description: String { text }
}

extension URLPattern {
    /// The values of the items that the pattern's query part names, in the pattern's order.
    ///
    /// Items are read as ``URLText/queryItems()`` reads them: decoded exactly once, a plus is a space. An item that the
    /// URL has not is absent; one without `=` is empty. Names are the same when they are equal as `String`s: a letter
    /// with an accent is its two characters. Whether the URL's path matches is not asked.
    ///
    /// - Returns: no captures when the pattern names no item; the query is then not read.
    /// - Throws: ``URLTextError`` with an offset in ``URLText/text``: `duplicateItem` when the URL has a named item
    ///   twice, and what ``URLText/queryItems()`` throws, be it for an item that the pattern does not name.
    public func queryValues(of url: URLText) throws(URLTextError) -> RouteCaptures {
        guard !queryCaptures.isEmpty else { return RouteCaptures() }
        var values: [String: String] = [:]
        var wanted = Set(queryCaptures.map(\.item))
        for (number, item) in try url.queryItems().enumerated() {
            if wanted.remove(item.name) != nil {
                values[item.name] = item.value
            } else if values[item.name] != nil {
                let detail = "an item that the route names stands in the query twice"
                throw URLTextError(.duplicateItem, at: url.offset(ofQueryItem: number), detail)
            }
        }
        let found = queryCaptures.compactMap { capture in
            values[capture.item].map { RouteCapture(name: capture.name, value: $0) }
        }
        return RouteCaptures(found)
    }
}

extension URLText {
    /// Where an item of the query begins, in bytes of ``text``; empty items do not count.
    fileprivate func offset(ofQueryItem number: Int) -> Int {
        guard let range = places.query else { return text.utf8.count }
        let query = text.utf8.dropFirst(range.lowerBound).prefix(range.count)
        let items = query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: true)
        let start = items.dropFirst(number).first?.startIndex ?? query.startIndex
        return text.utf8.distance(from: text.utf8.startIndex, to: start)
    }
}

/// An item of a URL's query that a ``URLPattern`` names: `page` and `number` in `?page={number}`.
public struct QueryCapture: Sendable, Hashable {
    /// The item's name in the query, decoded.
    public let item: String
    /// The name its value gets.
    public let name: String

    init(item: String, name: String) {
        self.item = item
        self.name = name
    }
}

/// One host or segment of a pattern.
enum RouteElement: Sendable {
    /// Decoded; a host in lower case.
    case literal(String)
    case capture(name: String, kind: CaptureKind)

    var name: String? {
        guard case .capture(let name, _) = self else { return nil }
        return name
    }
}

/// Why a text is no URL pattern, or why a table cannot have it, and where.
public struct RoutePatternError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of fault; more may be added.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        private enum Code: String {
            case empty, tooLong, invalidCharacter, missingScheme, missingHost, invalidHost, invalidPort, anyHost
            case emptySegment, dotSegment, invalidEscape
            case captureNotAlone, invalidCaptureName, unknownKind, kindNotAllowed, duplicateCapture, tooManyCaptures
            case restNotLast, invalidQuery, duplicateItem, ambiguous
        }
        private let code: Code

        /// There is nothing.
        public static let empty = Reason(code: .empty)
        /// More than ``URLPattern/maximumLength`` bytes.
        public static let tooLong = Reason(code: .tooLong)
        /// A control character, a space, a backslash or a `#`.
        public static let invalidCharacter = Reason(code: .invalidCharacter)
        /// It begins neither with a scheme and a colon nor with a slash.
        public static let missingScheme = Reason(code: .missingScheme)
        /// A special scheme, such as `https`, without `//` and a host.
        public static let missingHost = Reason(code: .missingHost)
        /// The host is none that a URL can have.
        public static let invalidHost = Reason(code: .invalidHost)
        /// The port is not a number up to 65,535.
        public static let invalidPort = Reason(code: .invalidPort)
        /// A capture in place of the host of a special scheme, such as `https`: any site would be accepted.
        public static let anyHost = Reason(code: .anyHost)
        /// Nothing between two slashes.
        public static let emptySegment = Reason(code: .emptySegment)
        /// `.` or `..`, which no URL has in its normal form.
        public static let dotSegment = Reason(code: .dotSegment)
        /// A `%` without two hexadecimal digits, escaped bytes that are not UTF-8, or an escaped control character.
        public static let invalidEscape = Reason(code: .invalidEscape)
        /// A `{` or `}` that does not enclose a whole host, segment or value.
        public static let captureNotAlone = Reason(code: .captureNotAlone)
        /// A capture's name is not `[A-Za-z][A-Za-z0-9_]*` of at most ``URLPattern/maximumNameLength`` bytes.
        public static let invalidCaptureName = Reason(code: .invalidCaptureName)
        /// What follows the colon in a capture is not `int` or `uuid`.
        public static let unknownKind = Reason(code: .unknownKind)
        /// A kind where there is none: a number or UUID in place of the host, any but text in the query.
        public static let kindNotAllowed = Reason(code: .kindNotAllowed)
        /// Two captures of the pattern have the same name.
        public static let duplicateCapture = Reason(code: .duplicateCapture)
        /// More than ``URLPattern/maximumCaptures`` captures, those of the query included.
        public static let tooManyCaptures = Reason(code: .tooManyCaptures)
        /// Something follows a `{name...}`.
        public static let restNotLast = Reason(code: .restNotLast)
        /// The part behind `?` is not `item={name}`, with `&` between several.
        public static let invalidQuery = Reason(code: .invalidQuery)
        /// The query part names one item twice.
        public static let duplicateItem = Reason(code: .duplicateItem)
        /// Another pattern of the table matches the same URLs, and no rule says which of the two comes first.
        public static let ambiguous = Reason(code: .ambiguous)

        /// The word used in logs and JSON, such as `emptySegment`.
        public var description: String { code.rawValue }
    }

    /// What kind of fault.
    public let reason: Reason
    /// Where it begins, in bytes of UTF-8 from the start of the pattern.
    public let offset: Int
    /// What exactly, and what to do, in words. It may repeat pieces of the patterns, which come from whoever wrote the program.
    public let detail: String
    /// Of an ambiguity, the pattern that was there before, as it was given; else `nil`.
    public let otherPattern: String?

    init(_ reason: Reason, at offset: Int, _ detail: String, otherPattern: String? = nil) {
        self.reason = reason
        self.offset = offset
        self.detail = detail
        self.otherPattern = otherPattern
    }

    /// The reason, the place and what exactly.
    public var description: String { "\(reason) at byte \(offset): \(detail)" }
}
