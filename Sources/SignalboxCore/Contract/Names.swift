/// The name that routes an action to a plugin.
///
/// A name matches `[A-Za-z][A-Za-z0-9._-]*` in ASCII and has at most 64 bytes. Names that begin with `signalbox.` are
/// reserved for Signalbox, so a message with such a name is rejected.
public struct ActionName: Sendable, Hashable {
    package let bytes: Bytes

    package init(unchecked bytes: Bytes) {
        self.bytes = bytes
    }

    /// The maximum length of a name in bytes.
    public static let maximumLength = 64

    /// Creates a name from external input or a configuration. In code, you can write the name as a string literal
    /// instead.
    ///
    /// - Throws: ``NameError`` if the text does not match the grammar or begins with `signalbox.`.
    public init(_ text: String) throws(NameError) {
        let bytes = Bytes(text)
        if let problem = bytes.withUnsafeBytes({ ActionName.problem(in: $0) }) {
            throw problem
        }
        self.bytes = bytes
    }

    /// Returns a reserved name, which consists of `signalbox.` followed by `word`.
    package static func own(_ word: StaticString) -> ActionName {
        ActionName(unchecked: Bytes("signalbox.\(word)"))
    }

    /// Creates a name that was stored, which may be reserved. Returns `nil` if the text is not a name.
    package init?(stored text: String) {
        let bytes = Bytes(text)
        switch bytes.withUnsafeBytes({ ActionName.problem(in: $0) }) {
        case nil, .reserved?: self.bytes = bytes
        default: return nil
        }
    }

    /// The name as text.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Returns the same name in a separate allocation that does not keep the batch alive. Use this for a name that
    /// outlives its batch.
    public func copied() -> ActionName {
        ActionName(unchecked: bytes.copied())
    }

    /// Returns the reason why these bytes are not a valid name in a message, or `nil` if they are valid.
    package static func problem(in bytes: UnsafeRawBufferPointer) -> NameError? {
        guard let first = bytes.first else { return .empty }
        guard bytes.count <= maximumLength else { return .tooLong }
        guard first.isASCIILetter, bytes.allSatisfy(isAllowed) else { return .invalidCharacter }
        return bytes.starts(with: reservedPrefix) ? .reserved : nil
    }

    private static let reservedPrefix: [UInt8] = Array("signalbox.".utf8)

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: byte.isASCIILetter || byte.isASCIIDigit
        }
    }
}

extension UInt8 {
    var isASCIILetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
    var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}

extension ActionName: ExpressibleByStringLiteral {
    /// Creates a name from a literal.
    ///
    /// - Precondition: The literal is a valid name. An invalid literal is a programming error and traps.
    public init(stringLiteral text: String) {
        do {
            try self.init(text)
        } catch {
            preconditionFailure("\"\(text)\" is not an action name: \(error)")
        }
    }
}

extension ActionName: CustomStringConvertible {
    /// The name as text.
    public var description: String { text }
}

/// The name of a configured source, such as `push` or `chat`. Limits, ordering, deduplication and metrics apply to each
/// source separately.
///
/// The grammar is the same as for ``ActionName``: `[A-Za-z][A-Za-z0-9._-]*` in ASCII, with at most 64 bytes.
public struct SourceName: Sendable, Hashable, CustomStringConvertible {
    /// The name as text.
    public let text: String

    /// Creates a name from a configuration. In code, you can write the name as a string literal instead.
    ///
    /// - Throws: ``NameError`` if the text does not match the grammar or begins with the reserved prefix.
    public init(_ text: String) throws(NameError) {
        _ = try ActionName(text)
        self.text = text
    }

    /// The name as text.
    public var description: String { text }
}

extension SourceName: ExpressibleByStringLiteral {
    /// Creates a name from a literal.
    ///
    /// - Precondition: The literal is a valid name. An invalid literal is a programming error and traps.
    public init(stringLiteral text: String) {
        self.text = ActionName(stringLiteral: text).text
    }
}

/// An error that explains why a text is not a valid ``ActionName`` or ``SourceName``. Later versions may add more
/// reasons.
public struct NameError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The text is empty.
    public static let empty = NameError(description: "a name cannot be empty")
    /// The text has more than ``ActionName/maximumLength`` bytes.
    public static let tooLong = NameError(description: "a name has at most \(ActionName.maximumLength) bytes")
    /// The text does not match `[A-Za-z][A-Za-z0-9._-]*`.
    public static let invalidCharacter = NameError(
        description: "a name is ASCII: a letter, then letters, digits, '.', '_' or '-'"
    )
    /// The text begins with `signalbox.`, which is reserved for names that Signalbox defines.
    public static let reserved = NameError(description: "names that begin with 'signalbox.' are reserved")

    /// A description of the error, including what a name must look like.
    public let description: String
}
