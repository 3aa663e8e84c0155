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
