/// An item of a URL's query that a ``URLPattern`` names: `page` and `number` in `?page={number}`.
public struct QueryCapture: Sendable, Hashable {
    /// The item's name in the query, decoded.
    public let item: String
    /// The name its value gets.
    public let name: String

    init(item: String, name: String) {
        self.item = item
        self.name = name
    }
}
