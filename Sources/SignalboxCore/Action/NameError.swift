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
