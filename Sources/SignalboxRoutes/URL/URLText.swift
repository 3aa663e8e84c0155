/// A parsed URL.
///
/// Create a `URLText` before you make any decision about a URL, and then open its ``text``. Because all decisions about
/// URLs use this type, no two of them can interpret a URL differently.
///
/// ```swift
/// let url = try URLText("HTTPS://Shop.EXAMPLE:443/A")
/// print(url.text)  // https://shop.example/A
/// ```
///
/// The parser follows the rules of the [WHATWG](https://url.spec.whatwg.org), as do the engines that open URLs. If RFC
/// 3986 yields a different host or path for a text, the text is rejected as `ambiguousURL`. Control
/// characters are rejected too, and in `http`, `https`, `ws`, `wss` and `file` URLs user names and non-ASCII hosts, so
/// write such a host in its ASCII form (`xn--`). The cost of parsing is linear in the length of the text.
public struct URLText: Sendable {
    /// The maximum length of a URL in bytes, both as given and after normalization.
    public static let maximumLength = 65_536

    /// The URL in the WHATWG's normal form.
    ///
    /// The text is ASCII, with its scheme and domain in lower case and without a default port or dot segments. Open
    /// this text, so that the URL that you load is the URL that you checked.
    public let text: String
    /// Whether the scheme is `http`, `https`, `ws`, `wss`, `ftp` or `file`, so that the host follows the WHATWG's rules
    /// for special schemes.
    public let isSpecial: Bool
    /// The port, or `nil` if the URL has no port or the default port for its scheme.
    public let port: UInt16?
    /// Whether the path has an escape that cannot be read, which only ``URLPathRules/lenient`` accepts. No pattern
    /// matches such a URL.
    public let hasUnreadablePath: Bool
    let components: URLComponentRanges

    /// Parses an absolute URL.
    ///
    /// - Parameters:
    ///   - text: The URL.
    ///   - paths: Whether an `http` or `https` URL may have escapes in its path that cannot be read.
    /// - Throws: ``URLTextError`` with the reason and the byte offset of the error.
    public init(_ text: String, paths: URLPathRules = .strict) throws(URLTextError) {
        var reader = URLReader(text, paths: paths)
        try reader.read()
        self.text = String(decoding: reader.output, as: UTF8.self)
        isSpecial = reader.isSpecial
        port = reader.port
        hasOpaquePath = reader.hasOpaquePath
        hasUnreadablePath = reader.hasUnreadablePath
        components = reader.components
        // The scheme is stored, because every handler and pattern reads it.
        scheme = String(decoding: reader.output[..<components.schemeEnd], as: UTF8.self)
        host = components.host.map { String(decoding: reader.output[$0], as: UTF8.self) }
    }

    /// The scheme in lower case, without the colon.
    public let scheme: String

    /// The host, or `nil` if the URL has none, as in `myapp:product/42` and `myapp:/product/42`.
    ///
    /// - For a special scheme, the host is a lowercase ASCII domain, an IPv4 address, or an IPv6 address in brackets.
    /// - For `file`, the host is usually empty.
    /// - For any other scheme, the host is as written, with non-ASCII letters escaped. It may be empty, as in
    ///   `myapp:///product/42`. Compare ``decodedHost`` instead.
    public let host: String?

    /// The host as text: percent-decoded once, with letters and their marks in composed form. Its letter case is that of
    /// ``host``. `nil` if the URL has no host.
    public var decodedHost: String? {
        guard let host, !isSpecial, host.utf8.contains(UInt8(ascii: "%")) else { return host }
        return HostName.normalized(PercentDecoding.text(Array(host.utf8)[...]))
    }

    /// The escaped user name before the host, with a colon and the password if there is one, or `nil` if the URL has
    /// none, as is always the case for `http`, `https`, `ws`, `wss` and `file`.
    ///
    /// The text is untrusted and may be a secret. No pattern matches a URL with a user name.
    public var userInfo: String? { components.userInfo.map { piece($0) } }

    /// The escaped path, which is either empty or begins with a slash. If ``hasOpaquePath`` is `true`, the path can be
    /// any text.
    public var path: String { piece(components.path) }

    /// Whether the path is plain text instead of a list of segments, as in `mailto:x` and `myapp:product/42`.
    public let hasOpaquePath: Bool

    /// The path's segments, percent-decoded exactly once. An escaped slash is part of its segment.
    ///
    /// The path `/a/b/` has the segments `a`, `b` and an empty one. The path `/` has one empty segment, and an empty
    /// path has no segments. An opaque path is split in the same way.
    public var segments: [String] {
        guard !components.path.isEmpty else { return [] }
        let bytes = Array(text.utf8)
        var segments: [String] = []
        var start = components.path.lowerBound + (hasOpaquePath ? 0 : 1)
        for index in start..<components.path.upperBound where bytes[index] == UInt8(ascii: "/") {
            segments.append(PercentDecoding.text(bytes[start..<index]))
            start = index + 1
        }
        segments.append(PercentDecoding.text(bytes[start..<components.path.upperBound]))
        return segments
    }

    /// The escaped query without its `?`, or `nil` if the URL has no query.
    public var query: String? { components.query.map { piece($0) } }

    /// The escaped fragment without its `#`, or `nil` if the URL has no fragment.
    public var fragment: String? { components.fragment.map { piece($0) } }

    private func piece(_ range: Range<Int>) -> String {
        String(Substring(text.utf8.dropFirst(range.lowerBound).prefix(range.count)))
    }
}

extension URLText: Hashable {
    /// Returns whether the normal forms of both URLs are equal.
    public static func == (left: URLText, right: URLText) -> Bool {
        left.text == right.text
    }

    /// Hashes the normal form.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(text)
    }
}

extension URLText: CustomStringConvertible {
    /// The URL's normal form, for logs.
    ///
    /// A query or fragment may contain a secret, so the description omits them and ends in `?…` or `#…` in their place.
    /// A user name is shown as `…`.
    /// Use ``text`` to get the whole URL.
    public var description: String {
        var shown = text[...]
        if let end = (components.query ?? components.fragment)?.lowerBound {
            shown = Substring(text.utf8.prefix(end)) + "…"
        }
        guard let info = components.userInfo else { return String(shown) }
        return "\(Substring(text.utf8.prefix(info.lowerBound)))…\(Substring(shown.utf8.dropFirst(info.upperBound)))"
    }
}

extension URLText {
    /// The maximum number of query items.
    public static let maximumQueryItems = 256

    /// Returns the query's names and values in order, decoded exactly once.
    ///
    /// The items are parsed as by a browser's `URLSearchParams` (WHATWG, section 5.1): `&` separates items, a plus
    /// means a space, and empty items are skipped. To include a plus sign, write `%2B`.
    ///
    /// - Returns: The items, whose names may repeat. The array is empty if there is no query.
    /// - Throws: ``URLTextError`` for an invalid escape, escapes that are not UTF-8, an escaped U+0000, or more than
    ///   ``maximumQueryItems`` items. The offset refers to ``text``.
    public func queryItems() throws(URLTextError) -> [URLQueryItem] {
        var items: [URLQueryItem] = []
        for item in try rawQueryItems() { items.append(try item.decoded()) }
        return items
    }

    /// Returns the items of the query that can be read, and the number of those that cannot.
    ///
    /// The items that can be read are those of ``queryItems()``. Never let an item decide that another parser may read: a
    /// browser reads an invalid escape as it stands.
    ///
    /// - Throws: ``URLTextError`` for more than ``maximumQueryItems`` items.
    public func readableQueryItems() throws(URLTextError) -> (items: [URLQueryItem], unreadable: Int) {
        let query = try readableQuery()
        return (query.items, query.unreadable)
    }

    /// Returns the items of the query that can be read, with the names of those whose value cannot be read.
    ///
    /// - Throws: ``URLTextError`` for more than ``maximumQueryItems`` items.
    package func readableQuery() throws(URLTextError) -> ReadableQuery { ReadableQuery(try rawQueryItems()) }

    /// Returns the items of the query, still escaped.
    func rawQueryItems() throws(URLTextError) -> [RawQueryItem] {
        guard let range = components.query else { return [] }
        return try RawQueryItem.items(of: Array(text.utf8), in: range)
    }
}

/// Which paths of `http` and `https` URLs are accepted.
public enum URLPathRules: Sendable, Hashable {
    /// Each escape in a path must be readable as UTF-8. The default, because routes compare the decoded path.
    case strict
    /// A `%` without two digits, and escapes that are not UTF-8, such as `%E9`, may stand in a path. Use this only where
    /// scheme and host decide alone.
    case lenient
}

/// A decoded name and value from a query.
public struct URLQueryItem: Sendable, Hashable {
    /// The text before the first `=`, or the whole item if it has no `=`.
    public let name: String
    /// The text after the first `=`, or an empty string if the item has no `=`.
    public let value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

/// The WHATWG's special schemes (section 4.2), and one case for all other schemes.
enum URLScheme: String {
    case http, https, ftp, file, other
    case webSocket = "ws"
    case secureWebSocket = "wss"

    /// - Parameter name: The scheme in lower case.
    init(_ name: some Sequence<UInt8>) {
        self = URLScheme(rawValue: String(decoding: Array(name), as: UTF8.self)) ?? .other
    }

    /// The default port of the scheme.
    var defaultPort: UInt16? {
        switch self {
        case .http, .webSocket: 80
        case .https, .secureWebSocket: 443
        case .ftp: 21
        case .file, .other: nil
        }
    }
}

/// The byte range of each part of a URL within the URL's normal form.
struct URLComponentRanges: Sendable {
    var schemeEnd = 0
    var userInfo: Range<Int>?
    var host: Range<Int>?
    /// The path, which comes after the scheme and the authority.
    var path = 0..<0
    var query: Range<Int>?
    var fragment: Range<Int>?
}

/// An error that explains why a text was rejected as a URL, with the position of the error.
///
/// The description never contains the text, which is untrusted and may contain a secret.
public struct URLTextError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error. Later versions may add more.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        /// The text is empty.
        public static let empty = Reason(description: "empty")
        /// The URL has more bytes than ``URLText/maximumLength``.
        public static let tooLong = Reason(description: "tooLong")
        /// The text does not begin with a scheme and a colon, and there is no base URL to resolve it against.
        public static let missingScheme = Reason(description: "missingScheme")
        /// The URL contains a control character. Engines drop tabs and line ends, which would change the URL.
        public static let controlCharacter = Reason(description: "controlCharacter")
        /// There is a space before or after the URL, which engines would drop.
        public static let surroundingSpace = Reason(description: "surroundingSpace")
        /// A user name precedes the host of an `http`, `https`, `ws`, `wss` or `file` URL, or is empty. Such text may look
        /// like a host or be a secret.
        public static let userinfo = Reason(description: "userinfo")
        /// The host is empty where one is required, or contains an invalid character or label.
        public static let invalidHost = Reason(description: "invalidHost")
        /// The host of a special scheme contains non-ASCII characters. Write the host in its ASCII form, which begins with `xn--`.
        public static let internationalHost = Reason(description: "internationalHost")
        /// The port is not a number up to 65,535.
        public static let invalidPort = Reason(description: "invalidPort")
        /// A `%` is not followed by two hexadecimal digits.
        public static let invalidEscape = Reason(description: "invalidEscape")
        /// The escaped bytes are not UTF-8 or contain a control character.
        public static let notUTF8 = Reason(description: "notUTF8")
        /// The WHATWG's rules and RFC 3986 yield a different host or path.
        public static let ambiguousURL = Reason(description: "ambiguousURL")
        /// The query has more than ``URLText/maximumQueryItems`` items.
        public static let tooManyItems = Reason(description: "tooManyItems")
        /// The query contains the same item twice.
        public static let duplicateItem = Reason(description: "duplicateItem")
        /// The text is not an origin. Only a scheme, a host and a port are allowed.
        public static let notAnOrigin = Reason(description: "notAnOrigin")

        /// The reason's name in logs and JSON, such as `ambiguousURL`.
        public let description: String
    }

    /// The kind of error.
    public let reason: Reason
    /// The position of the error in bytes from the start of the text.
    public let offset: Int
    /// A description of the error.
    public let detail: String

    package init(_ reason: Reason, at offset: Int, _ detail: String) {
        self.reason = reason
        self.offset = offset
        self.detail = detail
    }

    /// The reason, the position and the description.
    public var description: String { "\(reason) at byte \(offset): \(detail)" }
}
