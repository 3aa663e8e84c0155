/// A URL's host and segments as patterns see them: decoded once, without the empty segment of one trailing slash.
struct URLPieces {
    /// Where the host stands; segments count from 0.
    static let hostPosition = -1
    static let slash = UInt8(ascii: "/")

    /// As the URL has it, letter case included; empty also where a URL has none.
    let host: String
    let segments: [String]
    /// Behind the last segment that has a slash in it, which was escaped.
    private let plainStart: Int

    init(_ url: URLText) {
        var segments = url.segments
        if segments.last?.isEmpty == true { segments.removeLast() }
        self.segments = segments
        host = url.host ?? ""
        // Without an escape no segment can have a slash.
        let hasEscapes = url.text.utf8.contains(UInt8(ascii: "%"))
        plainStart = hasEscapes ? (segments.lastIndex { $0.utf8.contains(URLPieces.slash) } ?? -1) + 1 : 0
    }

    /// Behind the last segment.
    var end: Int { segments.count }

    /// - Parameter position: a host's or a segment's, before ``end``.
    subscript(position: Int) -> String {
        position == URLPieces.hostPosition ? host : segments[position]
    }

    /// What a literal is compared with: of a host letter case does not count.
    func comparable(at position: Int) -> String {
        position == URLPieces.hostPosition ? host.lowercased() : segments[position]
    }

    /// Whether all from a position on may be joined to one text: no segment of it has a slash that was escaped, and a
    /// host is not empty.
    func allowsRest(from position: Int) -> Bool {
        position == URLPieces.hostPosition ? plainStart == 0 && !host.isEmpty : position >= plainStart
    }

    /// The host, where it is the first, and the segments from a position on, with slashes between them.
    func rest(from position: Int) -> String {
        guard position == URLPieces.hostPosition else { return segments[position...].joined(separator: "/") }
        return ([host] + segments).joined(separator: "/")
    }
}

/// What a pattern says before its first host or segment, and what a URL has there.
struct RouteRoot: Sendable, Hashable {
    enum Form {
        /// `/seg`: any scheme, host and port, but no opaque path.
        case anywhere
        /// `scheme://host/seg`, the host possibly empty.
        case authority
        /// `scheme:/seg`
        case rooted
        /// `scheme:seg`
        case opaque
    }

    let form: Form
    /// In lower case; empty in a pattern for any.
    let scheme: String
    /// `nil`: the scheme's own, or any.
    let port: UInt16?

    static let anywhere = RouteRoot(form: .anywhere, scheme: "", port: nil)

    init(form: Form, scheme: String, port: UInt16? = nil) {
        self.form = form
        self.scheme = scheme
        self.port = port
    }

    init(of url: URLText) {
        let form: Form = url.hasOpaquePath ? .opaque : url.host == nil ? .rooted : .authority
        self.init(form: form, scheme: url.scheme, port: url.port)
    }

    /// Where the first element stands: a host comes before the segments, which count from 0.
    var firstPosition: Int { form == .authority ? URLPieces.hostPosition : 0 }

    /// Whether a pattern with this root may match a URL with that one.
    func covers(_ url: RouteRoot) -> Bool {
        form == .anywhere ? url.form != .opaque : self == url
    }
}
