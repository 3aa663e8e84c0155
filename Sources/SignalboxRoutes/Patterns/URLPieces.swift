/// A URL's host and segments, prepared for matching: they are decoded once, and the empty segment after a trailing
/// slash is left out.
struct URLPieces {
    /// The position of the host, which precedes the segments' positions; these count from 0.
    static let hostPosition = -1
    static let slash = UInt8(ascii: "/")

    /// The decoded host, with its case preserved. Empty if the host is empty or the URL has no host.
    let host: String
    let segments: [String]
    /// The position after the last segment that contains an escaped slash.
    private let plainStart: Int

    init(_ url: URLText) {
        var segments = url.segments
        if segments.last?.isEmpty == true { segments.removeLast() }
        self.segments = segments
        host = url.decodedHost ?? ""
        // A segment contains a slash only if the URL has an escape.
        let hasEscapes = url.text.utf8.contains(UInt8(ascii: "%"))
        plainStart = hasEscapes ? (segments.lastIndex { $0.utf8.contains(URLPieces.slash) } ?? -1) + 1 : 0
    }

    /// The position after the last segment.
    var end: Int { segments.count }

    /// The host or segment at a position.
    ///
    /// - Parameter position: The position of the host or of a segment. Must be less than ``end``.
    subscript(position: Int) -> String {
        position == URLPieces.hostPosition ? host : segments[position]
    }

    /// Returns the text to compare with a literal, in lower case for a host.
    func comparable(at position: Int) -> String {
        position == URLPieces.hostPosition ? host.lowercased() : segments[position]
    }

    /// Returns whether the pieces from `position` may be joined into one text. The pieces may be joined only if none of
    /// the segments contains an escaped slash and, if the pieces include the host, the host is not empty.
    func allowsRest(from position: Int) -> Bool {
        position == URLPieces.hostPosition ? plainStart == 0 && !host.isEmpty : position >= plainStart
    }

    /// Returns the pieces from `position`, joined by slashes. If `position` is the host's position, the result includes
    /// the host.
    func rest(from position: Int) -> String {
        guard position == URLPieces.hostPosition else { return segments[position...].joined(separator: "/") }
        return ([host] + segments).joined(separator: "/")
    }
}

extension URLText {
    /// Whether a pattern may match the URL. A user name is read by no route, so a route that ignored it could mean another
    /// person; and a path that cannot be read is no list of segments.
    var isRoutable: Bool { userInfo == nil && !hasUnreadablePath }
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
    /// The scheme in lower case. Empty in a pattern that matches any scheme.
    let scheme: String
    /// The port. `nil` means the scheme's default port or, in a pattern that matches any scheme, any port.
    let port: UInt16?

    static let anywhere = RouteRoot(form: .anywhere, scheme: "", port: nil)
}

extension RouteRoot {
    init(of url: URLText) {
        let form: Form = url.hasOpaquePath ? .opaque : url.host == nil ? .rooted : .authority
        self.init(form: form, scheme: url.scheme, port: url.port)
    }

    /// The position of the first element. This is the host's position if there is a host, and otherwise 0.
    var firstPosition: Int { form == .authority ? URLPieces.hostPosition : 0 }

    /// Returns whether a pattern with this root may match a URL with the root `url`.
    func covers(_ url: RouteRoot) -> Bool {
        form == .anywhere ? url.form != .opaque : self == url
    }
}
