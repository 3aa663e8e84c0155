/// The name of a configured source, such as `push` or `chat`: the key of bounds, order, seen ids and metrics.
///
/// The grammar is that of ``ActionName``: ASCII `[A-Za-z][A-Za-z0-9._-]*`, at most 64 bytes.
public struct SourceName: Sendable, Hashable, CustomStringConvertible {
    /// The name as text.
    public let text: String

    /// A name from a configuration.
    ///
    /// - Throws: ``NameError`` when the text is not in the grammar; the reserved prefix counts too.
    public init(_ text: String) throws(NameError) {
        _ = try ActionName(text)
        self.text = text
    }

    /// The name as text.
    public var description: String { text }
}

extension SourceName: ExpressibleByStringLiteral {
    /// A name written in the program.
    ///
    /// - Precondition: the literal is a name; anything else is a mistake in the program and traps.
    public init(stringLiteral text: String) {
        self.text = ActionName(stringLiteral: text).text
    }
}
