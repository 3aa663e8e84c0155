/// Why a text is not an ``ActionName``.
public enum ActionNameError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The text has no characters.
    case empty
    /// The text has more than ``ActionName/maximumLength`` bytes.
    case tooLong
    /// The text does not match `[A-Za-z][A-Za-z0-9._-]*`.
    case invalidCharacter
    /// The text begins with `signalbox.`, which is kept for actions that Signalbox makes itself.
    case reserved

    /// What is wrong and what a name looks like.
    public var description: String {
        switch self {
        case .empty: "an action name cannot be empty"
        case .tooLong: "an action name has at most \(ActionName.maximumLength) bytes"
        case .invalidCharacter: "an action name is ASCII: a letter, then letters, digits, '.', '_' or '-'"
        case .reserved: "action names that begin with 'signalbox.' are reserved"
        }
    }
}
