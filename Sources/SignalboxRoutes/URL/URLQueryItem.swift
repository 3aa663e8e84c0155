/// One name and value of a query, decoded.
public struct URLQueryItem: Sendable, Hashable {
    /// What stands before the first `=`, or all of it.
    public let name: String
    /// What stands behind the first `=`; empty when there is none.
    public let value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}
