extension URLText {
    /// The most items of a query that are read.
    public static let maximumQueryItems = 256

    /// The query's names and values, in order, decoded exactly once.
    ///
    /// As a browser's `URLSearchParams` reads them (the WHATWG's section 5.1): items between `&`, a plus is a space,
    /// empty items are skipped. A plus sign is written `%2B`.
    ///
    /// - Returns: an empty array when there is no query. A name may occur more than once.
    /// - Throws: ``URLTextError`` for a bad escape, escapes that are not UTF-8 or an escaped U+0000, and for more than
    ///   ``maximumQueryItems`` items; offsets count in ``text``.
    public func queryItems() throws(URLTextError) -> [URLQueryItem] {
        guard let range = places.query else { return [] }
        let bytes = Array(text.utf8)
        var items: [URLQueryItem] = []
        var start = range.lowerBound
        while start < range.upperBound {
            let end = bytes[start..<range.upperBound].firstIndex(of: UInt8(ascii: "&")) ?? range.upperBound
            if end > start {
                guard items.count < URLText.maximumQueryItems else {
                    let detail = "at most \(URLText.maximumQueryItems) items expected in the query"
                    throw URLTextError(.tooManyItems, at: start, detail)
                }
                items.append(try URLText.item(bytes, start..<end))
            }
            start = end + 1
        }
        return items
    }

    private static func item(_ bytes: [UInt8], _ range: Range<Int>) throws(URLTextError) -> URLQueryItem {
        let equals = bytes[range].firstIndex(of: UInt8(ascii: "=")) ?? range.upperBound
        let value = min(equals + 1, range.upperBound)..<range.upperBound
        return URLQueryItem(
            name: try PercentDecoding.formText(bytes, range.lowerBound..<equals),
            value: try PercentDecoding.formText(bytes, value)
        )
    }
}
