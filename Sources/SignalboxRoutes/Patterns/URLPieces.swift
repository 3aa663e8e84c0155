/// The host and the segments of a URL for matching. They are decoded once, and the empty segment of a trailing slash is
/// left out.
struct URLPieces {
    /// The position of the host. The positions of the segments count from 0.
    static let hostPosition = -1
    static let slash = UInt8(ascii: "/")

    /// The host as in the URL, with its case preserved. It is empty also for a URL without a host.
    let host: String
    let segments: [String]
    /// The position after the last segment that contains an escaped slash.
    private let plainStart: Int

    init(_ url: URLText) {
        var segments = url.segments
        if segments.last?.isEmpty == true { segments.removeLast() }
        self.segments = segments
        host = url.host ?? ""
        // A segment contains a slash only if the URL has an escape.
        let hasEscapes = url.text.utf8.contains(UInt8(ascii: "%"))
        plainStart = hasEscapes ? (segments.lastIndex { $0.utf8.contains(URLPieces.slash) } ?? -1) + 1 : 0
    }

    /// The position after the last segment.
    var end: Int { segments.count }

    /// The host or the segment at a position.
    ///
    /// - Parameter position: The position of the host or of a segment, which is before ``end``.
    subscript(position: Int) -> String {
        position == URLPieces.hostPosition ? host : segments[position]
    }

    /// Returns the text to compare with a literal. The text of a host is in lower case.
    func comparable(at position: Int) -> String {
        position == URLPieces.hostPosition ? host.lowercased() : segments[position]
    }

    /// Returns whether the pieces from `position` may be joined into one text. They may be joined if none of the
    /// segments contains an escaped slash and if the host, where it is one of the pieces, is not empty.
    func allowsRest(from position: Int) -> Bool {
        position == URLPieces.hostPosition ? plainStart == 0 && !host.isEmpty : position >= plainStart
    }

    /// Returns the pieces from `position`, joined by slashes. The host is one of them if `position` is the host's.
    func rest(from position: Int) -> String {
        guard position == URLPieces.hostPosition else { return segments[position...].joined(separator: "/") }
        return ([host] + segments).joined(separator: "/")
    }
}

/// The part of a pattern or URL before its first host or segment.
struct RouteRoot: Sendable, Hashable {
    enum Form {
        /// `/seg`: any scheme, host and port, but no opaque path.
        case anywhere
        /// `scheme://host/seg`. The host may be empty.
        case authority
        /// `scheme:/seg`
        case rooted
        /// `scheme:seg`
        case opaque
    }

    let form: Form
    /// The scheme in lower case. It is empty in a pattern for any scheme.
    let scheme: String
    /// The port. `nil` means the default port of the scheme, or any port in a pattern for any scheme.
    let port: UInt16?

    static let anywhere = RouteRoot(form: .anywhere, scheme: "", port: nil)
}

extension RouteRoot {
    init(of url: URLText) {
        let form: Form = url.hasOpaquePath ? .opaque : url.host == nil ? .rooted : .authority
        self.init(form: form, scheme: url.scheme, port: url.port)
    }

    /// The position of the first element. A host precedes the segments, whose positions count from 0.
    var firstPosition: Int { form == .authority ? URLPieces.hostPosition : 0 }

    /// Returns whether a pattern with this root may match a URL with the root `url`.
    func covers(_ url: RouteRoot) -> Bool {
        form == .anywhere ? url.form != .opaque : self == url
    }
}
