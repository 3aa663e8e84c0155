/// What tells one action of a source from another: the sender's own id, else one that Signalbox assigned.
///
/// Any text of 1 to 128 bytes of UTF-8, control characters included: escape it before it is shown, and never use it as
/// a file name.
public struct ActionID: Sendable, Hashable {
    package let bytes: Bytes

    package init(unchecked bytes: Bytes) {
        self.bytes = bytes
    }

    /// The most bytes an id may have.
    public static let maximumLength = 128

    /// An id made in the program.
    ///
    /// - Returns: `nil` when the text is empty or longer than ``maximumLength`` bytes.
    public init?(_ text: String) {
        guard (1...ActionID.maximumLength).contains(text.utf8.count) else { return nil }
        bytes = Bytes(text)
    }

    /// The same id in memory of its own, for whoever keeps it longer than the batch it came in.
    public func copied() -> ActionID {
        ActionID(unchecked: bytes.copied())
    }

    /// The id as text.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension ActionID: CustomStringConvertible {
    /// The id as text, not escaped.
    public var description: String { text }
}
