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
