/// The name an action is routed by: ASCII `[A-Za-z][A-Za-z0-9._-]*`, at most 64 bytes.
///
/// Names that begin with `signalbox.` are made by Signalbox itself and never read from a wire.
public struct ActionName: Sendable, Hashable {
    package let bytes: Bytes

    package init(unchecked bytes: Bytes) {
        self.bytes = bytes
    }

    /// The most bytes a name may have.
    public static let maximumLength = 64

    /// A name that came from outside, or from a configuration.
    ///
    /// - Throws: ``NameError`` when the text is not in the grammar or begins with `signalbox.`.
    public init(_ text: String) throws(NameError) {
        let bytes = Bytes(text)
        if let problem = bytes.withUnsafeBytes({ ActionName.problem(in: $0) }) {
            throw problem
        }
        self.bytes = bytes
    }

    /// A name that Signalbox makes itself: `signalbox.` and a word.
    package static func own(_ word: StaticString) -> ActionName {
        ActionName(unchecked: Bytes("signalbox.\(word)"))
    }

    /// The name as text.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The same name in memory of its own, for whoever keeps it longer than the batch it came in.
    public func copied() -> ActionName {
        ActionName(unchecked: bytes.copied())
    }

    /// What keeps these bytes from being a name that a wire may carry, or `nil` when nothing does.
    package static func problem(in bytes: UnsafeRawBufferPointer) -> NameError? {
        guard let first = bytes.first else { return .empty }
        guard bytes.count <= maximumLength else { return .tooLong }
        guard isLetter(first), bytes.allSatisfy({ isLetter($0) || isOther($0) }) else { return .invalidCharacter }
        return bytes.starts(with: reservedPrefix) ? .reserved : nil
    }

    private static let reservedPrefix: [UInt8] = Array("signalbox.".utf8)

    private static func isLetter(_ byte: UInt8) -> Bool {
        let lower = byte | 0x20
        return lower >= UInt8(ascii: "a") && lower <= UInt8(ascii: "z")
    }

    private static func isOther(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }
}

extension ActionName: ExpressibleByStringLiteral {
    /// A name written in the program.
    ///
    /// - Precondition: the literal is a name; anything else is a mistake in the program and traps.
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

/// Why a text is no ``ActionName`` and no ``SourceName``. The kinds; more may be added.
public struct NameError: Error, Sendable, Hashable, CustomStringConvertible {
    private enum Code { case empty, tooLong, invalidCharacter, reserved }
    private let code: Code

    /// The text has no characters.
    public static let empty = NameError(code: .empty)
    /// The text has more than ``ActionName/maximumLength`` bytes.
    public static let tooLong = NameError(code: .tooLong)
    /// The text does not match `[A-Za-z][A-Za-z0-9._-]*`.
    public static let invalidCharacter = NameError(code: .invalidCharacter)
    /// The text begins with `signalbox.`, which is kept for names that Signalbox makes itself.
    public static let reserved = NameError(code: .reserved)

    /// What is wrong and what a name looks like.
    public var description: String {
        switch code {
        case .empty: "a name cannot be empty"
        case .tooLong: "a name has at most \(ActionName.maximumLength) bytes"
        case .invalidCharacter: "a name is ASCII: a letter, then letters, digits, '.', '_' or '-'"
        case .reserved: "names that begin with 'signalbox.' are reserved"
        }
    }
}
