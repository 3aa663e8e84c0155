/// An error whose kind has an entry in docs/operations. The entry's anchor is ``qualifiedCode``.
package protocol CodedError: Error {
    /// The name of the kind of error, which is unique within its type, such as `notConnected`.
    var codeName: String { get }
}

extension CodedError {
    /// The error's type and kind, such as `MQTTPushError.notConnected`.
    package var qualifiedCode: String { "\(Self.self).\(codeName)" }

    /// Returns a text that ends with the qualified code in brackets.
    package func coded(_ text: String) -> String { "\(text) [\(qualifiedCode)]" }
}
