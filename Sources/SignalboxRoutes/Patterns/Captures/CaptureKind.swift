/// What a capture takes, and what its text may be.
public struct CaptureKind: Sendable, Hashable, CustomStringConvertible {
    private enum Code: String {
        case text, int, uuid, rest
    }
    private let code: Code

    /// `{name}`: any text; of a URL at least one byte.
    public static let text = CaptureKind(code: .text)
    /// `{name:int}`: `-?(0|[1-9][0-9]*)` that 64 bits with a sign hold; `-0` is 0.
    public static let int = CaptureKind(code: .int)
    /// `{name:uuid}`: RFC 9562, section 4: hexadecimal digits in groups of 8, 4, 4, 4 and 12, letter case free. Version
    /// and variant are not looked at.
    public static let uuid = CaptureKind(code: .uuid)
    /// `{name...}`: all that remains, possibly nothing.
    public static let rest = CaptureKind(code: .rest)

    /// The kind that a name behind a colon stands for; `text` and `rest` have no such name.
    init?(name: some Sequence<UInt8>) {
        if name.elementsEqual("int".utf8) {
            self = .int
        } else if name.elementsEqual("uuid".utf8) {
            self = .uuid
        } else {
            return nil
        }
    }

    private init(code: Code) {
        self.code = code
    }

    /// The word used in logs and JSON, such as `uuid`.
    public var description: String { code.rawValue }

    /// Whether the text has the form of the kind. It is read once at most, and no further than such a form can reach.
    func accepts(_ text: some Collection<UInt8>) -> Bool {
        switch code {
        case .text, .rest: true
        case .int: ScalarText.int64(text) != nil
        case .uuid: CaptureKind.isUUID(text)
        }
    }

    private static func isUUID(_ text: some Collection<UInt8>) -> Bool {
        var count = 0
        for byte in text {
            switch count {
            case 8, 13, 18, 23: guard byte == UInt8(ascii: "-") else { return false }
            case 36...: return false
            default: guard byte.hexValue != nil else { return false }
            }
            count += 1
        }
        return count == 36
    }
}
