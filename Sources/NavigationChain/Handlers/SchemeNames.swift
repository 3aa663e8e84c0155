import SignalboxRoutes

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
