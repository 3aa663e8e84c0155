/// A document that a server serves from memory, for `GET` and `HEAD`.
///
/// The server sends the document with strict headers. With them, browsers do not frame the document, guess its content
/// type or cache it, and they enforce its ``policy``.
public struct WebSocketPage: Sendable, Hashable {
    /// The content type, such as `text/html; charset=utf-8`. It has 1 to 128 bytes of printable ASCII.
    public let contentType: String
    /// The content, at most 1 MiB.
    public let body: [UInt8]
    /// What the browser permits the document to do.
    public let policy: WebSocketPagePolicy

    /// Creates a document.
    ///
    /// - Parameters:
    ///   - contentType: The value of ``contentType``.
    ///   - body: The value of ``body``.
    /// - policy: The policy. By default it is `strict`, with which the document cannot run scripts or load resources.
    public init(contentType: String, body: [UInt8], policy: WebSocketPagePolicy = .strict) {
        self.contentType = contentType
        self.body = body
        self.policy = policy
    }
}

/// The permissions of a served document in a browser. No policy permits framing, caching, or a `Referer` header.
public struct WebSocketPagePolicy: Sendable, Hashable {
    private enum Rule: Hashable { case strict, site, siteWithInlineCode, shared }
    private let rule: Rule

    /// The document cannot run scripts or load resources. Pages of other sites cannot load it.
    public static let strict = WebSocketPagePolicy(rule: .strict)

    /// The document can run scripts and load styles, images (also `data:`), fonts and data, but only from this server.
    ///
    /// The document can open WebSockets and submit forms to this server only. Inline code does not run, and pages of
    /// other sites cannot load the document.
    public static let site = WebSocketPagePolicy(rule: .site)

    /// The permissions of ``site`` with inline scripts and styles, including event handlers in attributes.
    ///
    /// Text that was inserted into such a document without escaping can run scripts, so prefer ``site``.
    public static let siteWithInlineCode = WebSocketPagePolicy(rule: .siteWithInlineCode)

    /// The permissions of ``strict``, but pages of all sites may load the document. Use this for scripts that pages of
    /// other origins load.
    public static let shared = WebSocketPagePolicy(rule: .shared)

    /// The headers `Content-Security-Policy` (CSP Level 3) and `Cross-Origin-Resource-Policy` (Fetch, 3.8).
    var headers: [(name: String, value: String)] {
        [
            ("Content-Security-Policy", "\(content); frame-ancestors 'none'; base-uri 'none'; form-action \(forms)"),
            ("Cross-Origin-Resource-Policy", rule == .shared ? "cross-origin" : "same-origin"),
        ]
    }

    // The source `'self'` includes the WebSockets of the same host and port (CSP Level 3, 6.7.2.8).
    private var content: String {
        switch rule {
        case .strict, .shared: "default-src 'none'"
        case .site: "default-src 'self'; img-src 'self' data:; object-src 'none'"
        case .siteWithInlineCode:
            "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
                + "img-src 'self' data:; object-src 'none'"
        }
    }

    private var forms: String {
        switch rule {
        case .strict, .shared: "'none'"
        case .site, .siteWithInlineCode: "'self'"
        }
    }
}

extension WebSocketPage {
    // These headers are part of every page. They forbid content type sniffing, a referrer and caching.
    private static let always = [
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cache-Control", "no-store"),
    ]

    /// The headers besides those of every HTTP response.
    var headers: [HeaderField] {
        (policy.headers + WebSocketPage.always).compactMap { HeaderField($0, $1) }
    }
}

extension WebSocketServerConfiguration {
    /// The documents for requests that do not upgrade.
    var allPages: [String: WebSocketPage] {
        guard let healthPath else { return pages }
        let health = WebSocketPage(contentType: "application/json", body: Array("{\"status\":\"ok\"}\n".utf8))
        return pages.merging([healthPath: health]) { $1 }
    }
}
