/// A run of letters, digits, `-`, `_` and `.` in a text, as ``Redaction`` reads it.
struct SecretWord {
    /// The longest key that is compared, in bytes; of a longer one the end counts.
    private static let lengthCompared = 32

    private static let keys = [
        "token", "password", "passwd", "passphrase", "secret", "authorization", "apikey", "privatekey", "accesskey",
        "credential", "credentials", "cookie", "cookies",
    ]
    private static let wholeKeys = ["pwd", "pass"]
    private static let headers = ["authorization", "cookie"]

    private let bytes: UnsafeRawBufferPointer
    /// The end of the word in small letters, without what joins words.
    private let name: [UInt8]

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        // A scheme or a key has at least four letters, so most words cost no more than this look at their length.
        guard bytes.count >= 3 else {
            name = []
            return
        }
        name = bytes.suffix(SecretWord.lengthCompared).filter { !$0.joinsWords }.map(\.inLowerCase)
    }

    var isSecretKey: Bool {
        SecretWord.keys.contains { ends(in: $0) } || SecretWord.wholeKeys.contains { name.elementsEqual($0.utf8) }
    }

    /// Whether it is the name of a header whose whole value is secret.
    var isHeader: Bool { SecretWord.headers.contains { ends(in: $0) } }

    /// Whether it is written as an option of a command: `--token`.
    var isOption: Bool { bytes.starts(with: "--".utf8) }

    private func ends(in key: String) -> Bool {
        name.suffix(key.utf8.count).elementsEqual(key.utf8)
    }
}

extension SecretWord {
    /// A scheme of HTTP authentication (RFC 6750, RFC 7617) that is followed by the secret itself.
    enum Scheme {
        case bearer
        case basic
        /// `basic` in small letters is an English word too.
        case basicInSmallLetters

        private static let plainWords = [
            "auth", "authentication", "authorization", "token", "tokens", "scheme", "credentials", "realm", "header",
            "challenge", "access", "and", "or", "of", "is", "was",
        ]

        /// Whether what follows is a word of a sentence and no secret.
        func isFollowedBy(plainWord word: UnsafeRawBufferPointer) -> Bool {
            let small = word.map(\.inLowerCase)
            if Scheme.plainWords.contains(where: { small.elementsEqual($0.utf8) }) { return true }
            guard case .basicInSmallLetters = self else { return false }
            return word.allSatisfy { ($0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "z")) || $0 == UInt8(ascii: "-") }
        }
    }

    var scheme: Scheme? {
        if name.elementsEqual("bearer".utf8) { return .bearer }
        guard name.elementsEqual("basic".utf8) else { return nil }
        return bytes.elementsEqual("basic".utf8) ? .basicInSmallLetters : .basic
    }
}
