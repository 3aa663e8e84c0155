extension URLPattern {
    /// The values of the items that the pattern's query part names, in the pattern's order.
    ///
    /// Items are read as ``URLText/queryItems()`` reads them: decoded exactly once, a plus is a space. An item that the
    /// URL has not is absent; one without `=` is empty. Names are the same when they are equal as `String`s: a letter
    /// with an accent is its two characters. Whether the URL's path matches is not asked.
    ///
    /// - Returns: no captures when the pattern names no item; the query is then not read.
    /// - Throws: ``URLTextError`` with an offset in ``URLText/text``: `duplicateItem` when the URL has a named item
    ///   twice, and what ``URLText/queryItems()`` throws, be it for an item that the pattern does not name.
    public func queryValues(of url: URLText) throws(URLTextError) -> RouteCaptures {
        guard !queryCaptures.isEmpty else { return RouteCaptures() }
        var values: [String: String] = [:]
        var wanted = Set(queryCaptures.map(\.item))
        for (number, item) in try url.queryItems().enumerated() {
            if wanted.remove(item.name) != nil {
                values[item.name] = item.value
            } else if values[item.name] != nil {
                let detail = "an item that the route names stands in the query twice"
                throw URLTextError(.duplicateItem, at: url.offset(ofQueryItem: number), detail)
            }
        }
        let found = queryCaptures.compactMap { capture in
            values[capture.item].map { RouteCapture(name: capture.name, value: $0) }
        }
        return RouteCaptures(found)
    }
}

extension URLText {
    /// Where an item of the query begins, in bytes of ``text``; empty items do not count.
    fileprivate func offset(ofQueryItem number: Int) -> Int {
        guard let range = places.query else { return text.utf8.count }
        let query = text.utf8.dropFirst(range.lowerBound).prefix(range.count)
        let items = query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: true)
        let start = items.dropFirst(number).first?.startIndex ?? query.startIndex
        return text.utf8.distance(from: text.utf8.startIndex, to: start)
    }
}
