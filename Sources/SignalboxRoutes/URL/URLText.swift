/// One URL, read once: what everything that decides about URLs looks at, so that no two of them read it differently.
///
/// The text is split by the rules of the [WHATWG](https://url.spec.whatwg.org), because the engines that open URLs use
/// them. Where RFC 3986 would read another host or another path the text is refused as `ambiguousURL`. Refused too, for
/// reasons of their own, are user names, control characters and hosts beyond ASCII, whose ASCII form (`xn--`) is taken.
///
/// Reading takes time that grows with the length alone.
public struct URLText: Sendable {
    /// The most bytes that a URL may have, as it is given and after it is normalised.
    public static let maximumLength = 65_536

    /// The URL in normal form, as the WHATWG writes it: ASCII, scheme and domain in lower case, no default port, no dot
    /// segments. This is what must be opened, so that what was decided about is what is loaded.
    public let text: String
    /// Whether the scheme is `http`, `https`, `ws`, `wss`, `ftp` or `file`: it then has a host by the rules of the web.
    public let isSpecial: Bool
    /// The port, or `nil` when there is none or it is the scheme's own.
    public let port: UInt16?
    let places: URLPlaces

    /// Reads an absolute URL.
    ///
    /// - Throws: ``URLTextError``: what is wrong and at which byte.
    public init(_ text: String) throws(URLTextError) {
        var reader = URLReader(text)
        try reader.read()
        self.init(reader)
    }

    init(_ reader: borrowing URLReader) {
        text = String(decoding: reader.output, as: UTF8.self)
        isSpecial = reader.isSpecial
        port = reader.port
        hasOpaquePath = reader.hasOpaquePath
        places = reader.places
        // Asked for by every handler and pattern, and so made once.
        scheme = String(decoding: reader.output[..<places.schemeEnd], as: UTF8.self)
        host = places.host.map { String(decoding: reader.output[$0], as: UTF8.self) }
    }

    /// The scheme in lower case, without the colon.
    public let scheme: String

    /// The host, or `nil` when the URL has none, as in `myapp:product/42` and `myapp:/product/42`.
    ///
    /// Of a special scheme: a domain in lower case and ASCII, an IPv4 address, or an IPv6 address in brackets; of `file`
    /// mostly empty. Of any other: ASCII as it was written, letter case included, or empty, as in `myapp:///product/42`.
    public let host: String?

    /// The path, still escaped: empty, or beginning with a slash; text of any form when ``hasOpaquePath``.
    public var path: String { piece(places.path) }

    /// Whether the path is no list of segments but any text, as in `mailto:x` and `myapp:product/42`.
    public let hasOpaquePath: Bool

    /// The path's pieces between slashes, percent-decoded exactly once: a slash that was escaped is in a segment, and
    /// separates nothing.
    ///
    /// `/a/b/` has `a`, `b` and an empty one, `/` an empty one, the empty path none. An opaque path is split in the same
    /// way.
    public var segments: [String] {
        guard !places.path.isEmpty else { return [] }
        let bytes = Array(text.utf8)
        var segments: [String] = []
        var start = places.path.lowerBound + (hasOpaquePath ? 0 : 1)
        for place in start..<places.path.upperBound where bytes[place] == UInt8(ascii: "/") {
            segments.append(PercentDecoding.text(bytes[start..<place]))
            start = place + 1
        }
        segments.append(PercentDecoding.text(bytes[start..<places.path.upperBound]))
        return segments
    }

    /// The query, still escaped and without `?`, or `nil` when there is none.
    public var query: String? { places.query.map { piece($0) } }

    /// The fragment, still escaped and without `#`, or `nil` when there is none.
    public var fragment: String? { places.fragment.map { piece($0) } }

    private func piece(_ range: Range<Int>) -> String {
        String(Substring(text.utf8.dropFirst(range.lowerBound).prefix(range.count)))
    }
}

extension URLText: Hashable {
    /// Equal when the normal forms are.
    public static func == (left: URLText, right: URLText) -> Bool {
        left.text == right.text
    }

    /// Hashes the normal form.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(text)
    }
}

extension URLText: CustomStringConvertible {
    /// The normal form up to its query or fragment, which may hold a secret; `?…` or `#…` stands for them. ``text`` has
    /// all of it.
    public var description: String {
        guard let end = (places.query ?? places.fragment)?.lowerBound else { return text }
        return String(Substring(text.utf8.prefix(end))) + "…"
    }
}

extension URLText {
    /// The most items of a query that are read.
    public static let maximumQueryItems = 256

    /// The query's names and values, in order, decoded exactly once.
    ///
    /// As a browser's `URLSearchParams` reads them (the WHATWG's section 5.1): items between `&`, a plus is a space,
    /// empty items are skipped. A plus sign is written `%2B`.
    ///
    /// - Returns: an empty array when there is no query. A name may occur more than once.
    /// - Throws: ``URLTextError`` for a bad escape, escapes that are not UTF-8 or an escaped U+0000, and for more than
    ///   ``maximumQueryItems`` items; offsets count in ``text``.
    public func queryItems() throws(URLTextError) -> [URLQueryItem] {
        guard let range = places.query else { return [] }
        let bytes = Array(text.utf8)
        var items: [URLQueryItem] = []
        var start = range.lowerBound
        while start < range.upperBound {
            let end = bytes[start..<range.upperBound].firstIndex(of: UInt8(ascii: "&")) ?? range.upperBound
            if end > start {
                guard items.count < URLText.maximumQueryItems else {
                    let detail = "at most \(URLText.maximumQueryItems) items expected in the query"
                    throw URLTextError(.tooManyItems, at: start, detail)
                }
                items.append(try URLText.item(bytes, start..<end))
            }
            start = end + 1
        }
        return items
    }

    private static func item(_ bytes: [UInt8], _ range: Range<Int>) throws(URLTextError) -> URLQueryItem {
        let equals = bytes[range].firstIndex(of: UInt8(ascii: "=")) ?? range.upperBound
        let value = min(equals + 1, range.upperBound)..<range.upperBound
        return URLQueryItem(
            name: try PercentDecoding.formText(bytes, range.lowerBound..<equals),
            value: try PercentDecoding.formText(bytes, value)
        )
    }
}

/// One name and value of a query, decoded.
public struct URLQueryItem: Sendable, Hashable {
    /// What stands before the first `=`, or all of it.
    public let name: String
    /// What stands behind the first `=`; empty when there is none.
    public let value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

/// The special schemes of the WHATWG's section 4.2, and all others.
enum URLScheme: Sendable {
    case http, https, webSocket, secureWebSocket, ftp, file, other

    /// - Parameter name: in lower case.
    init(_ name: some Sequence<UInt8>) {
        switch String(decoding: Array(name), as: UTF8.self) {
        case "https": self = .https
        case "http": self = .http
        case "file": self = .file
        case "ws": self = .webSocket
        case "wss": self = .secureWebSocket
        case "ftp": self = .ftp
        default: self = .other
        }
    }

    /// The port that is meant where none is written.
    var defaultPort: UInt16? {
        switch self {
        case .http, .webSocket: 80
        case .https, .secureWebSocket: 443
        case .ftp: 21
        case .file, .other: nil
        }
    }
}

/// Where the parts of a URL are in its normal form, in bytes.
struct URLPlaces: Sendable {
    var schemeEnd = 0
    var host: Range<Int>?
    /// Where the path begins; before it are scheme and authority.
    var path = 0..<0
    var query: Range<Int>?
    var fragment: Range<Int>?
}

/// Why a text is not taken as a URL, and where.
///
/// The description never repeats the text, which comes from outside and may hold a secret.
public struct URLTextError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of reason; more may be added.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        private enum Code: String {
            case empty, tooLong, missingScheme, controlCharacter, surroundingSpace, userinfo, invalidHost,
                internationalHost
            case invalidPort, invalidEscape, notUTF8, ambiguousURL, tooManyItems, duplicateItem
            case notAnOrigin
        }
        private let code: Code

        /// There is nothing.
        public static let empty = Reason(code: .empty)
        /// It has more bytes than ``URLText/maximumLength``.
        public static let tooLong = Reason(code: .tooLong)
        /// It does not begin with a scheme and a colon, and there is no base to resolve it against.
        public static let missingScheme = Reason(code: .missingScheme)
        /// A control character: engines drop tabs and line ends, so that what is read is not what was written.
        public static let controlCharacter = Reason(code: .controlCharacter)
        /// A space before or behind the URL, which engines drop.
        public static let surroundingSpace = Reason(code: .surroundingSpace)
        /// A user name or password before the host, made to look like a host, or a secret.
        public static let userinfo = Reason(code: .userinfo)
        /// The host is none: empty where one is needed, or with characters that no host has.
        public static let invalidHost = Reason(code: .invalidHost)
        /// The host has characters beyond ASCII. It is to be given in its ASCII form, with `xn--`.
        public static let internationalHost = Reason(code: .internationalHost)
        /// The port is not a number up to 65,535.
        public static let invalidPort = Reason(code: .invalidPort)
        /// A `%` without two hexadecimal digits behind it.
        public static let invalidEscape = Reason(code: .invalidEscape)
        /// Escaped bytes that are not UTF-8, or an escaped control character.
        public static let notUTF8 = Reason(code: .notUTF8)
        /// The WHATWG's rules and RFC 3986 read another host or another path.
        public static let ambiguousURL = Reason(code: .ambiguousURL)
        /// The query has more items than are read.
        public static let tooManyItems = Reason(code: .tooManyItems)
        /// The query names one item twice.
        public static let duplicateItem = Reason(code: .duplicateItem)
        /// A URL, or nothing of the kind, where a scheme, a host and a port alone are expected.
        public static let notAnOrigin = Reason(code: .notAnOrigin)

        /// The word used in logs and JSON, such as `ambiguousURL`.
        public var description: String { code.rawValue }
    }

    /// What kind of reason.
    public let reason: Reason
    /// Where, in bytes from the beginning of the text.
    public let offset: Int
    /// What exactly, in words.
    public let detail: String

    package init(_ reason: Reason, at offset: Int, _ detail: String) {
        self.reason = reason
        self.offset = offset
        self.detail = detail
    }

    /// The reason, the place and what exactly.
    public var description: String { "\(reason) at byte \(offset): \(detail)" }
}
