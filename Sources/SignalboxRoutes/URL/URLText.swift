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
/// 3986 yields a different host or path for a text, the text is rejected as `ambiguousURL`. User names, control
/// characters and non-ASCII hosts are rejected too, so write a non-ASCII host in its ASCII form (`xn--`). The cost of
/// parsing is linear in the length of the text.
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
    let components: URLComponentRanges

    /// Parses an absolute URL.
    ///
    /// - Throws: ``URLTextError`` with the reason and the byte offset of the error.
    public init(_ text: String) throws(URLTextError) {
        var reader = URLReader(text)
        try reader.read()
        self.text = String(decoding: reader.output, as: UTF8.self)
        isSpecial = reader.isSpecial
        port = reader.port
        hasOpaquePath = reader.hasOpaquePath
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
    /// - For any other scheme, the host is ASCII, exactly as written. It may be empty, as in `myapp:///product/42`.
    public let host: String?

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
    /// Use ``text`` to get the whole URL.
    public var description: String {
        guard let end = (components.query ?? components.fragment)?.lowerBound else { return text }
        return String(Substring(text.utf8.prefix(end))) + "…"
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
        try locatedQueryItems().map(\.item)
    }

    /// Returns the same items as ``queryItems()``, with their offsets in ``text``.
    func locatedQueryItems() throws(URLTextError) -> [(offset: Int, item: URLQueryItem)] {
        guard let range = components.query else { return [] }
        let bytes = Array(text.utf8)
        var items: [(offset: Int, item: URLQueryItem)] = []
        var start = range.lowerBound
        while start < range.upperBound {
            let end = bytes[start..<range.upperBound].firstIndex(of: UInt8(ascii: "&")) ?? range.upperBound
            if end > start {
                guard items.count < URLText.maximumQueryItems else {
                    let detail = "expected at most \(URLText.maximumQueryItems) items in the query"
                    throw URLTextError(.tooManyItems, at: start, detail)
                }
                items.append((start, try URLText.item(bytes, start..<end)))
            }
            start = end + 1
        }
        return items
    }

    private static func item(_ bytes: [UInt8], _ range: Range<Int>) throws(URLTextError) -> URLQueryItem {
        let equals = bytes[range].firstIndex(of: UInt8(ascii: "=")) ?? range.upperBound
        let value = min(equals + 1, range.upperBound)..<range.upperBound
        return URLQueryItem(
            name: try PercentDecoding.formText(bytes[range.lowerBound..<equals]),
            value: try PercentDecoding.formText(bytes[value])
        )
    }
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
        /// A user name or password precedes the host. Such text may look like a host or be a secret.
        public static let userinfo = Reason(description: "userinfo")
        /// The host is empty where one is required, or contains an invalid character or label.
        public static let invalidHost = Reason(description: "invalidHost")
        /// The host contains non-ASCII characters. Write the host in its ASCII form, which begins with `xn--`.
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
