/// What kept a test from having its broker.
public struct BrokerKitError: Error, CustomStringConvertible {
    /// What is missing or went wrong.
    public let description: String

    /// What is missing or went wrong, in words.
    public init(_ description: String) {
        self.description = description
    }
}
