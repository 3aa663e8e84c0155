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
