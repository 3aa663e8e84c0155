/// A pattern that matches URLs and captures named parts of them.
///
/// Use a single pattern to recognize one kind of link, or a ``RouteTable`` to select one of several patterns.
///
/// | pattern | URLs |
/// |---|---|
/// | `myapp://product/{id:int}` | that host, then one segment |
/// | `myapp:///product/{id}` | an empty host |
/// | `myapp:/product/{id}` | no host, and a slash |
/// | `myapp:product/{id}` | no host and no slash: an opaque path |
/// | `/product/{id}` | any scheme and host, but no opaque path |
///
/// A pattern matches only URLs of the same form. Schemes and hosts are compared case-insensitively, whereas segments
/// are decoded once and compared byte by byte. `?q={term}` captures a query item, but the query never affects whether
/// the pattern matches. See <doc:Patterns> for the whole grammar.
///
/// Two patterns are equal only if they have the same bytes, so unequal patterns may match the same URLs.
public struct URLPattern: Sendable, Hashable {
    /// The maximum length of a pattern in UTF-8 bytes.
    public static let maximumLength = 4_096
    /// The maximum number of captures in a pattern, including captures in the query.
    public static let maximumCaptures = 64
    /// The maximum length of a capture's name in bytes.
    public static let maximumNameLength = 64

    private let bytes: ByteText

    /// The pattern as given.
    public var text: String { bytes.text }
    /// The captures in the query, from left to right. Empty if the pattern has no `?`.
    public let queryCaptures: [QueryCapture]
    let root: RouteRoot
    let elements: [RouteElement]

    /// Parses a pattern from code or a configuration.
    ///
    /// - Throws: ``RoutePatternError`` with the reason and the byte offset of the error.
    public init(_ text: String) throws(RoutePatternError) {
        let compiler = try URLPatternCompiler(text)
        bytes = ByteText(text)
        root = compiler.root
        elements = compiler.elements
        queryCaptures = compiler.queryCaptures
    }

    /// The scheme in lower case, or `nil` if the pattern begins with a slash and matches any scheme.
    public var scheme: String? { root.form == .anywhere ? nil : root.scheme }

    /// The names of all captures in the host, the path and the query, from left to right.
    public var captureNames: [String] { elements.compactMap(\.name) + queryCaptures.map(\.name) }

    /// Returns the captures in the host and path if the URL matches.
    ///
    /// The cost is linear in the lengths of the pattern and the URL. The query and the fragment are ignored.
    ///
    /// - Returns: `nil` if the URL does not match. If the pattern has no captures before its `?`, the collection is
    ///   empty.
    public func match(_ url: URLText) -> RouteCaptures? {
        guard url.isRoutable, root.covers(RouteRoot(of: url)) else { return nil }
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

    /// Returns the captures from a URL, given that the URL matches.
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

extension URLPattern: CustomStringConvertible {
    /// The pattern as given. It contains no control characters.
    public var description: String { text }
}

extension URLPattern {
    /// Returns the values of the query items that the pattern captures, in the order of the pattern. Call this method
    /// after ``match(_:)``, because it does not check the URL's path.
    ///
    /// Items are parsed as by ``URLText/queryItems()``: they are decoded exactly once, and a plus means a space. If the
    /// URL lacks an item, the result lacks the corresponding capture, and the value of an item without `=` is empty.
    /// Item names match if they are equal as `String`s, so composed and decomposed letters are treated as equal.
    ///
    /// - Returns: The captured values. If the pattern captures no items, the collection is empty and the query is not
    ///   parsed.
    /// - Throws: ``URLTextError`` with an offset in ``URLText/text``. The reason is `duplicateItem` if the URL contains
    ///   a captured item twice, and that of ``URLText/queryItems()`` if a captured item cannot be read, or if the query
    ///   has too many items. An item that is not captured may be unreadable.
    public func queryValues(of url: URLText) throws(URLTextError) -> RouteCaptures {
        guard !queryCaptures.isEmpty else { return RouteCaptures() }
        var values: [String: String] = [:]
        var wanted = Set(queryCaptures.map(\.item))
        for item in try url.rawQueryItems() {
            // No route names an item whose name is unreadable.
            guard let name = try? item.name() else { continue }
            if wanted.remove(name) != nil {
                values[name] = try item.value()
            } else if values[name] != nil {
                let detail = "a query item named in the route occurs twice"
                throw URLTextError(.duplicateItem, at: item.offset, detail)
            }
        }
        let found = queryCaptures.compactMap { capture in
            values[capture.item].map { RouteCapture(name: capture.name, value: $0) }
        }
        return RouteCaptures(found)
    }
}

/// A query item that a ``URLPattern`` captures. In `?page={number}`, the item is `page` and the capture's name is
/// `number`.
public struct QueryCapture: Sendable, Hashable {
    /// The decoded name of the item in the query.
    public let item: String
    /// The name of the capture.
    public let name: String
}

/// A host or segment in a pattern.
enum RouteElement: Sendable, Hashable {
    /// Decoded text, which is in lower case for a host.
    case literal(String)
    case capture(name: String, kind: CaptureKind)

    var name: String? {
        guard case .capture(let name, _) = self else { return nil }
        return name
    }
}

/// An error that explains why a text is not a URL pattern, or why a pattern cannot be added to a table, with the
/// position of the error.
public struct RoutePatternError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error. Later versions may add more.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        /// The pattern is empty.
        public static let empty = Reason(description: "empty")
        /// The pattern has more than ``URLPattern/maximumLength`` bytes.
        public static let tooLong = Reason(description: "tooLong")
        /// The pattern contains a control character, a space, a backslash or a `#`.
        public static let invalidCharacter = Reason(description: "invalidCharacter")
        /// The pattern does not begin with a scheme and a colon or with a slash.
        public static let missingScheme = Reason(description: "missingScheme")
        /// A special scheme, such as `https`, is not followed by `//` and a host.
        public static let missingHost = Reason(description: "missingHost")
        /// The host is not valid in a URL.
        public static let invalidHost = Reason(description: "invalidHost")
        /// The port is not a number up to 65,535.
        public static let invalidPort = Reason(description: "invalidPort")
        /// A capture takes the place of the host in a URL with a special scheme, such as `https`. Such a pattern would
        /// accept any site.
        public static let anyHost = Reason(description: "anyHost")
        /// Two slashes have no text between them.
        public static let emptySegment = Reason(description: "emptySegment")
        /// A segment is `.` or `..`, which no normalized URL contains.
        public static let dotSegment = Reason(description: "dotSegment")
        /// A `%` is not followed by two hexadecimal digits, or the escaped bytes are not UTF-8 or contain a control
        /// character.
        public static let invalidEscape = Reason(description: "invalidEscape")
        /// A `{` or `}` does not enclose a whole host, segment or value.
        public static let captureNotAlone = Reason(description: "captureNotAlone")
        /// A capture's name does not match `[A-Za-z][A-Za-z0-9_]*` or has more than ``URLPattern/maximumNameLength``
        /// bytes.
        public static let invalidCaptureName = Reason(description: "invalidCaptureName")
        /// The text after the colon in a capture is not `int` or `uuid`.
        public static let unknownKind = Reason(description: "unknownKind")
        /// A capture's kind is not allowed in this position: a number or UUID as the host, or any kind but text in the
        /// query.
        public static let kindNotAllowed = Reason(description: "kindNotAllowed")
        /// Two captures in the pattern have the same name.
        public static let duplicateCapture = Reason(description: "duplicateCapture")
        /// The pattern has more than ``URLPattern/maximumCaptures`` captures, including captures in the query.
        public static let tooManyCaptures = Reason(description: "tooManyCaptures")
        /// A `{name...}` is not the last part of the pattern.
        public static let restNotLast = Reason(description: "restNotLast")
        /// The part after `?` does not consist of items of the form `item={name}`, separated by `&`.
        public static let invalidQuery = Reason(description: "invalidQuery")
        /// The query part contains the same item twice.
        public static let duplicateItem = Reason(description: "duplicateItem")
        /// Another pattern in the table matches the same URLs, and no rule orders the two.
        public static let ambiguous = Reason(description: "ambiguous")

        /// The reason's name in logs and JSON, such as `emptySegment`.
        public let description: String
    }

    /// The kind of error.
    public let reason: Reason
    /// The position of the error in UTF-8 bytes from the start of the pattern.
    public let offset: Int
    /// A description of the error and how to fix it. The description may quote the patterns, which are written by the
    /// program's author.
    public let detail: String
    /// The text of the conflicting pattern in the table, if the reason is ``Reason/ambiguous``.
    public let otherPattern: String?

    init(_ reason: Reason, at offset: Int, _ detail: String, otherPattern: String? = nil) {
        self.reason = reason
        self.offset = offset
        self.detail = detail
        self.otherPattern = otherPattern
    }

    /// The reason, the position and the description.
    public var description: String { "\(reason) at byte \(offset): \(detail)" }
}
