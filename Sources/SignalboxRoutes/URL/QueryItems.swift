extension RawQueryItem {
    /// Returns the items in a range of bytes.
    static func items(of bytes: [UInt8], in range: Range<Int>) throws(URLTextError) -> [RawQueryItem] {
        var items: [RawQueryItem] = []
        var start = range.lowerBound
        while start < range.upperBound {
            let end = bytes[start..<range.upperBound].firstIndex(of: UInt8(ascii: "&")) ?? range.upperBound
            if end > start {
                guard items.count < URLText.maximumQueryItems else {
                    let detail = "expected at most \(URLText.maximumQueryItems) items in the query"
                    throw URLTextError(.tooManyItems, at: start, detail)
                }
                items.append(RawQueryItem(bytes[start..<end]))
            }
            start = end + 1
        }
        return items
    }
}

/// The items of a query, as far as they can be read.
package struct ReadableQuery: Sendable {
    /// The items that can be read, in order.
    package fileprivate(set) var items: [URLQueryItem] = []
    /// The number of items that cannot be read.
    package fileprivate(set) var unreadable = 0
    /// The names of items whose name can be read, but not their value.
    package fileprivate(set) var namesOfUnreadable: Set<String> = []

    init(_ raw: [RawQueryItem]) {
        for item in raw {
            if let item = try? item.decoded() {
                items.append(item)
            } else {
                unreadable += 1
                if let name = try? item.name() { namesOfUnreadable.insert(name) }
            }
        }
    }

    /// Reads a form in the format `application/x-www-form-urlencoded` (WHATWG URL, 5.1), whose fields are like the items of a
    /// query.
    ///
    /// - Throws: ``URLTextError`` for more than ``URLText/maximumQueryItems`` fields.
    package init(form: [UInt8]) throws(URLTextError) {
        self.init(try RawQueryItem.items(of: form, in: form.indices))
    }
}

/// An item of a query as written. Its indices are offsets in the URL.
struct RawQueryItem {
    private let bytes: ArraySlice<UInt8>
    private let equals: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        equals = bytes.firstIndex(of: UInt8(ascii: "=")) ?? bytes.endIndex
    }

    var offset: Int { bytes.startIndex }

    func name() throws(URLTextError) -> String { try PercentDecoding.formText(bytes[..<equals]) }

    func value() throws(URLTextError) -> String { try PercentDecoding.formText(bytes[equals...].dropFirst()) }

    func decoded() throws(URLTextError) -> URLQueryItem { URLQueryItem(name: try name(), value: try value()) }
}
