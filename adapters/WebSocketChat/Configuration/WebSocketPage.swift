/// A document that a server hands out from memory, for `GET` and `HEAD`.
///
/// It comes with strict headers: a browser frames it nowhere, guesses no other content type, keeps no copy, and does with
/// it what its policy says and no more.
public struct WebSocketPage: Sendable, Hashable {
    /// Such as `text/html; charset=utf-8`; 1 to 128 bytes of printable ASCII.
    public let contentType: String
    /// At most 1 MiB.
    public let body: [UInt8]
    /// What a browser may do with it.
    public let policy: WebSocketPagePolicy

    /// A document as given.
    ///
    /// - Parameters:
    ///   - contentType: as ``contentType``.
    ///   - body: as ``body``.
    ///   - policy: `strict` by default: no script runs in it, and nothing is loaded for it.
    public init(contentType: String, body: [UInt8], policy: WebSocketPagePolicy = .strict) {
        self.contentType = contentType
        self.body = body
        self.policy = policy
    }
}

/// What a browser may do with a document that a server hands out. A document is framed nowhere under any of them, tells
/// nobody where it came from, and is kept by nobody.
public struct WebSocketPagePolicy: Sendable, Hashable {
    private enum Rule: Hashable { case strict, site, siteWithInlineCode, shared }
    private let rule: Rule

    /// It runs no script and loads nothing, and pages of other sites cannot load it.
    public static let strict = WebSocketPagePolicy(rule: .strict)

    /// It runs scripts, applies styles and loads images (also `data:`), fonts and data from this server's pages alone, and
    /// opens WebSockets to this server alone. Code that stands in the document itself does not run. It cannot be loaded by
    /// pages of other sites, and sends forms to this server alone.
    public static let site = WebSocketPagePolicy(rule: .site)

    /// As ``site``, and scripts and styles that stand in the document itself work, event handlers in attributes included.
    /// Whoever can put text into such a document without it being escaped runs scripts in it.
    public static let siteWithInlineCode = WebSocketPagePolicy(rule: .siteWithInlineCode)

    /// As ``strict``, but pages of all sites may load it: for a script that pages of other origins use.
    public static let shared = WebSocketPagePolicy(rule: .shared)

    /// The headers `Content-Security-Policy` (CSP Level 3) and `Cross-Origin-Resource-Policy` (Fetch, 3.8).
    var headers: [(name: String, value: String)] {
        [
            ("Content-Security-Policy", "\(content); frame-ancestors 'none'; base-uri 'none'; form-action \(forms)"),
            ("Cross-Origin-Resource-Policy", rule == .shared ? "cross-origin" : "same-origin"),
        ]
    }

    // `'self'` covers the WebSockets of the same host and port (CSP Level 3, 6.7.2.8).
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

/// What a server hands out to those who ask for no upgrade.
enum ServerPages {
    /// Whatever the policy of a page: nobody guesses what it is, is told where it came from, or keeps it.
    private static let always = [
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cache-Control", "no-store"),
    ]

    static func all(of configuration: WebSocketServerConfiguration) -> [String: ServedPage] {
        var pages = configuration.pages.mapValues(served)
        if let path = configuration.healthPath {
            let health = Array("{\"status\":\"ok\"}\n".utf8)
            pages[path] = served(WebSocketPage(contentType: "application/json", body: health))
        }
        return pages
    }

    private static func served(_ page: WebSocketPage) -> ServedPage {
        let headers = (page.policy.headers + always).compactMap { HeaderField($0, $1) }
        return ServedPage(contentType: page.contentType, body: page.body, headers: headers)
    }
}

/// A document that a server hands out from memory.
struct ServedPage: Equatable, Sendable {
    let contentType: String
    let body: [UInt8]
    /// Further headers, such as a content security policy.
    var headers: [HeaderField] = []
}
