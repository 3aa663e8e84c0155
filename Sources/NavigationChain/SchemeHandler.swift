import SignalboxRoutes

/// Cancels every scheme that is not listed, and passes on what is. It comes first in a chain.
///
/// `about:blank` and `about:srcdoc`, which pages put into frames of their own, are allowed without being listed: in a sub
/// frame, and where the engine does not tell the frame, unless a new window or a download is asked for. In the main frame
/// they are cancelled unless `about` is listed.
public struct SchemeHandler: SyncNavigationHandler {
    /// The name in verdicts and logs.
    public let name: String
    private let harmless: SchemeNames
    private let dangerous: SchemeNames

    /// A list of what may be loaded.
    ///
    /// - Parameters:
    ///   - schemes: such as `https`, in any letter case, without the colon.
    ///   - dangerous: further schemes, which may be those that run script, read files or open other programs: `about`,
    ///     `blob`, `data`, `file`, `intent`, `javascript` and the like. They are refused in the first list, so that none
    ///     is allowed by accident.
    ///   - name: the name in verdicts and logs.
    /// - Throws: ``NavigationChainError``: `invalidScheme`; `dangerousScheme` for one of those in the first list.
    public init(
        allowing schemes: [String],
        dangerous: [String] = [],
        name: String = "scheme"
    ) throws(NavigationChainError) {
        self.name = name
        harmless = try SchemeNames(schemes, handler: name)
        self.dangerous = try SchemeNames(dangerous, mayBeDangerous: true, handler: name)
    }

    /// Allows the empty documents of sub frames, passes on what is listed, and cancels all else.
    public func decide(_ request: NavigationRequest) -> NavigationDecision? {
        if mayBeFrame(request), request.url.isFrameDocument {
            return .allow("about:\(request.url.path), which a page puts into its own frame")
        }
        if harmless.contains(request.url) || dangerous.contains(request.url) { return nil }
        return .cancel("the scheme \(request.url.scheme) is not allowed")
    }

    private func mayBeFrame(_ request: NavigationRequest) -> Bool {
        request.frame != .main && request.kind != .newWindow && request.kind != .download
    }
}

extension URLText {
    /// Whether it matches `about:blank` or `about:srcdoc`, as the WHATWG's
    /// [HTML standard](https://html.spec.whatwg.org/multipage/urls-and-fetching.html) says: the first with any query and
    /// fragment, the second with any fragment.
    fileprivate var isFrameDocument: Bool {
        guard scheme == "about", hasOpaquePath else { return false }
        return path == "blank" || path == "srcdoc" && query == nil
    }
}

/// Schemes from a list in a program or configuration, checked.
struct SchemeNames: Sendable {
    /// Schemes that run script, read files, show what a page made up, or open other programs. None is taken in a list of
    /// harmless ones.
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

    /// - Throws: ``NavigationChainError``: `invalidScheme`, and `dangerousScheme` for what is in ``dangerous``, unless
    ///   it may be.
    init(_ texts: [String], mayBeDangerous: Bool = false, handler: String) throws(NavigationChainError) {
        for text in texts {
            guard SchemeNames.isScheme(text) else {
                let detail = "\(text) is no scheme: a letter, then letters, digits, + - or .; without the colon"
                throw NavigationChainError(.invalidScheme, detail, handler: handler)
            }
            let name = text.lowercased()
            guard mayBeDangerous || !SchemeNames.dangerous.contains(name) else {
                let detail = "\(name) is not harmless; only SchemeHandler takes it, in its list `dangerous`"
                throw NavigationChainError(.dangerousScheme, detail, handler: handler)
            }
            names.insert(name)
        }
    }

    var isEmpty: Bool { names.isEmpty }

    func contains(_ url: URLText) -> Bool { names.contains(url.scheme) }

    /// RFC 3986, section 3.1.
    private static func isScheme(_ text: String) -> Bool {
        guard let first = text.utf8.first, first.isASCIILetter, text.utf8.count <= maximumLength else { return false }
        return text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "+-.".utf8.contains($0) }
    }
}
