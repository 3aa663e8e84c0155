import SignalboxRoutes

/// Cancels requests for URLs whose schemes are not listed, and passes on all other requests. Put this handler at the
/// start of a chain.
///
/// Pages load `about:blank` and `about:srcdoc` into their own frames. In a sub frame or an unknown frame, the handler
/// allows these URLs even if they are not listed, except for a new window or a download. In the main frame, they are
/// cancelled unless `about` is listed as a dangerous scheme.
public struct SchemeHandler: SyncNavigationHandler {
    /// The name in verdicts and logs.
    public let name: String
    private let harmless: SchemeNames
    private let dangerous: SchemeNames

    /// Creates a handler with a list of allowed schemes.
    ///
    /// - Parameters:
    ///   - schemes: Schemes such as `https`, without the colon. Letter case is ignored.
    ///   - dangerous: More schemes to allow, which may run script, read files or open other programs: `about`, `blob`,
    ///     `data`, `file`, `intent`, `javascript` and others. To prevent accidents, `schemes` must not contain them.
    ///   - name: The name in verdicts and logs.
    /// - Throws: ``NavigationChainError`` with the code `invalidScheme`, or `dangerousScheme` if `schemes` contains a
    ///   dangerous one.
    public init(
        allowing schemes: [String],
        dangerous: [String] = [],
        name: String = "scheme"
    ) throws(NavigationChainError) {
        self.name = name
        harmless = try SchemeNames(schemes, handler: name)
        self.dangerous = try SchemeNames(dangerous, mayBeDangerous: true, handler: name)
    }

    /// Allows `about:blank` and `about:srcdoc` for frames, passes on URLs with listed schemes, and cancels all others.
    public func decide(_ request: NavigationRequest) -> NavigationDecision? {
        if mayBeFrame(request), request.url.isFrameDocument {
            return .allow("about:\(request.url.path), which a page loads into its own frame")
        }
        if harmless.contains(request.url) || dangerous.contains(request.url) { return nil }
        return .cancel("the scheme \(request.url.scheme) is not allowed")
    }

    private func mayBeFrame(_ request: NavigationRequest) -> Bool {
        request.frame != .main && request.kind != .newWindow && request.kind != .download
    }
}

extension URLText {
    /// Whether the URL is `about:blank` with any query and fragment, or `about:srcdoc` with any fragment, as defined by
    /// the WHATWG's [HTML standard](https://html.spec.whatwg.org/multipage/urls-and-fetching.html).
    fileprivate var isFrameDocument: Bool {
        guard scheme == "about", hasOpaquePath else { return false }
        return path == "blank" || path == "srcdoc" && query == nil
    }
}

/// A validated list of schemes from a program or configuration.
struct SchemeNames: Sendable {
    /// The schemes that can run script, read files, show content from the page itself, or open other programs.
    static let dangerous: Set<String> = [
        "about", "android-app", "applewebdata", "blob", "chrome", "chrome-extension", "chrome-search",
        "chrome-untrusted",
        "content", "data", "devtools", "feed", "file", "filesystem", "intent", "jar", "javascript", "livescript",
        "mhtml", "mk",
        "mocha", "moz-extension", "moz-icon", "ms-its", "ms-msdt", "res", "resource", "safari-extension", "search-ms",
        "shell",
        "vbscript", "view-source", "wyciwyg", "x-javascript",
    ]
    private static let maximumLength = 64

    private var names: Set<String> = []

    /// Creates a list.
    ///
    /// - Throws: ``NavigationChainError`` with the code `invalidScheme`, or `dangerousScheme` if a scheme is in
    ///   ``dangerous`` and `mayBeDangerous` is `false`.
    init(_ texts: [String], mayBeDangerous: Bool = false, handler: String) throws(NavigationChainError) {
        for text in texts {
            guard SchemeNames.isScheme(text) else {
                let detail = "\(text) is not a scheme: a letter, then letters, digits, + - or .; without the colon"
                throw NavigationChainError(.invalidScheme, detail, handler: handler)
            }
            let name = text.lowercased()
            guard mayBeDangerous || !SchemeNames.dangerous.contains(name) else {
                let detail = "\(name) is dangerous; only SchemeHandler accepts it, in its list `dangerous`"
                throw NavigationChainError(.dangerousScheme, detail, handler: handler)
            }
            names.insert(name)
        }
    }

    var isEmpty: Bool { names.isEmpty }

    func contains(_ url: URLText) -> Bool { names.contains(url.scheme) }

    /// Returns whether the text is a scheme (RFC 3986, section 3.1).
    private static func isScheme(_ text: String) -> Bool {
        guard let first = text.utf8.first, first.isASCIILetter, text.utf8.count <= maximumLength else { return false }
        return text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "+-.".utf8.contains($0) }
    }
}
