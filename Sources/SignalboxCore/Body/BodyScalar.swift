/// A single JSON string or number, as a ``BodyScalar`` is made from it.
public enum BodyLiteral: Sendable, Hashable {
    /// A string's content, or a text from a URL or topic.
    case text(String)
    /// A number as it is written, by RFC 8259 section 6.
    case number(String)
}

/// A type that a body holds as one string or number, whatever its own `Codable` form is: the way for types the core
/// does not know, such as a date.
public protocol BodyScalar: Codable {
    /// - Returns: `nil` when the literal does not stand for a value; the error is then `invalidValue`.
    init?(bodyLiteral: BodyLiteral)

    /// The string or number a reply holds. A number that RFC 8259 does not allow makes the reply fail.
    var bodyLiteral: BodyLiteral { get }
}
