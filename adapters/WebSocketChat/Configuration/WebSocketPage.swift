/// A document that a server serves from memory in response to `GET` and `HEAD`.
///
/// The server sends the document with strict headers, which keep browsers from framing the document, guessing its
/// content type or caching it, and which make them enforce its ``policy``.
public struct WebSocketPage: Sendable, Hashable {
    /// The content type, such as `text/html; charset=utf-8`. It must be 1 to 128 bytes of printable ASCII.
    public let contentType: String
    /// The content, at most 1 MiB long.
    public let body: [UInt8]
    /// What the browser allows the document to do.
    public let policy: WebSocketPagePolicy

    /// Creates a document.
    ///
    /// - Parameters:
    ///   - contentType: The content type, such as `text/html; charset=utf-8`.
    ///   - body: The content.
    ///   - policy: What the browser allows the document to do. By default, the document can neither run scripts nor
    ///     load resources.
    public init(contentType: String, body: [UInt8], policy: WebSocketPagePolicy = .strict) {
        self.contentType = contentType
        self.body = body
        self.policy = policy
    }
}

/// What a browser allows a served document to do. No policy allows framing, caching or a `Referer` header.
public struct WebSocketPagePolicy: Sendable, Hashable {
    private enum Rule: Hashable { case strict, site, siteWithInlineCode, shared }
    private let rule: Rule

    /// The document cannot run scripts or load resources, and pages of other sites cannot load it.
    public static let strict = WebSocketPagePolicy(rule: .strict)

    /// The document can run scripts and load styles, images (including `data:` URLs), fonts and data, but only from
    /// this server.
    ///
    /// The document can open WebSockets and submit forms to this server only. Inline code does not run, and pages of
    /// other sites cannot load the document.
    public static let site = WebSocketPagePolicy(rule: .site)

    /// Like ``site``, but inline scripts and styles run too, including event handlers in attributes.
    ///
    /// Prefer ``site``, because text inserted into such a document without escaping could run scripts.
    public static let siteWithInlineCode = WebSocketPagePolicy(rule: .siteWithInlineCode)

    /// Like ``strict``, but pages of any site may load the document. Use this for scripts that pages from other origins
    /// load.
    public static let shared = WebSocketPagePolicy(rule: .shared)

    /// The headers `Content-Security-Policy` (CSP Level 3) and `Cross-Origin-Resource-Policy` (Fetch, 3.8).
    var headers: [(name: String, value: String)] {
        [
            ("Content-Security-Policy", "\(content); frame-ancestors 'none'; base-uri 'none'; form-action \(forms)"),
            ("Cross-Origin-Resource-Policy", rule == .shared ? "cross-origin" : "same-origin"),
        ]
    }

    // `'self'` includes WebSockets to the same host and port (CSP Level 3, 6.7.2.8).
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
    // Every page is sent with these headers. They forbid content type sniffing, a referrer and caching.
    private static let always = [
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cache-Control", "no-store"),
    ]

    /// The headers to add to those that every HTTP response has.
    var headers: [HeaderField] {
        (policy.headers + WebSocketPage.always).compactMap { HeaderField($0, $1) }
    }
}

extension WebSocketServerConfiguration {
    /// The documents served to requests that do not upgrade.
    var allPages: [String: WebSocketPage] {
        guard let healthPath else { return pages }
        let health = WebSocketPage(contentType: "application/json", body: Array("{\"status\":\"ok\"}\n".utf8))
        return pages.merging([healthPath: health]) { $1 }
    }
}
