import AppScheme
import SignalboxRoutes

/// What `parse` found in one line.
struct ParsedURL {
    private let input: InputLine
    private let url: URLText?
    private let items: [URLQueryItem]?
    /// Why the URL, or its query, could not be read.
    private let error: URLTextError?
    private let routed: RoutedURL?

    /// - Parameters:
    ///   - base: what a relative URL is resolved against.
    ///   - routes: what is asked what would be called.
    init(_ input: InputLine, base: URLText?, routes: AppRoutes?) {
        self.input = input
        let read = ParsedURL.read(input, base)
        url = try? read.get()
        let query = url.map { ParsedURL.items(of: $0) }
        items = (try? query?.get()) ?? nil
        error = read.failure ?? query?.failure
        let (url, error) = (url, read.failure)
        routed = routes.map { RoutedURL(url, error, routes: $0) }
    }

    /// Whether it is a URL with a query that can be read and, where there are routes, an action.
    var isGood: Bool { error == nil && routed?.isAction ?? true }

    /// One JSON object with a newline.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        if let url { object.add(url, items: items) } else { object.add(input) }
        if let error { object.add(error) }
        routed?.add(to: &object)
        return object.line
    }

    /// Columns for a person: the URL, its host and path, what would be called; or why it is none.
    var terminalLine: [UInt8] {
        guard let url else {
            let reason = LineEscape.escaped("refused: \(error?.description ?? "")")
            return TerminalText.line([TerminalText.column(input.shown, width: 48), reason])
        }
        var columns = [TerminalText.column(url.text, width: 48), TerminalText.column(place(of: url), width: 32)]
        if let error { columns.append(LineEscape.escaped("query: \(error)")) }
        if let routed { columns.append(routed.column) }
        return TerminalText.line(columns)
    }

    private func place(of url: URLText) -> String {
        ([url.host].compactMap { $0 } + url.segments).joined(separator: "  ")
    }

    private static func read(_ input: InputLine, _ base: URLText?) -> Result<URLText, URLTextError> {
        Result { () throws(URLTextError) in
            let text = try input.text()
            return if let base { try URLText(text, relativeTo: base) } else { try URLText(text) }
        }
    }

    /// `nil` when there is no query.
    private static func items(of url: URLText) -> Result<[URLQueryItem]?, URLTextError> {
        guard url.query != nil else { return .success(nil) }
        return Result { () throws(URLTextError) in try url.queryItems() }
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
