import SignalboxCore

/// Removes secrets from text that is shown to people, such as a log line, an outcome's detail or a span.
///
/// Use ``line(_:)`` before you log text that comes from a message, a plugin or an error. Such text has no known
/// structure, so redaction looks for these forms:
///
/// - The value of a secret key in `key=value`, `key: value`, `"key":"value"` and `--key value`. This includes the query
///   of a URL, and JSON inside a JSON string. A key is secret if it is `pwd` or `pass`, or ends in `token`, `password`,
///   `passwd`, `passphrase`, `secret`, `authorization`, `apikey`, `privatekey`, `accesskey`, `credential`,
///   `credentials`, `cookie` or `cookies`. Case and the characters `-`, `_` and `.` are ignored. The values of the
///   headers `Authorization` and `Cookie` extend to the end of the line.
/// - The text after `Bearer` or `Basic`.
/// - The text before the `@` in a URL (`scheme://user:password@host`).
///
/// Secrets in any other form are not found. For example, if a password consists of several words without quotes, all
/// words after the first stay visible. Redaction takes time proportional to the length of the text.
///
/// The error texts of the operating system are never removed, so that `cannot read staff.token: Permission denied` stays
/// readable.
public enum Redaction {
    /// The text that replaces a secret: `[redacted]`.
    public static let mark = "[redacted]"

    /// Returns the text with its secrets removed. Text that contains no secrets is returned unchanged.
    public static func redacted(_ text: String) -> String {
        var text = text
        let replaced = text.withUTF8 { bytes -> [UInt8]? in
            var scan = RedactionScan(text: UnsafeRawBufferPointer(bytes))
            scan.run()
            return scan.result
        }
        return replaced.map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    /// Returns untrusted text as a single line without secrets, so that it can be used in a log line. Control
    /// characters, line and paragraph separators, and bidirectional formatting characters are written as `\u{...}`.
    public static func line(_ text: String) -> String {
        LineText.escaped(redacted(text))
    }

    /// Returns the text with its secrets removed, limited to `limit` Unicode scalars. Use this method for text that
    /// will be stored or sent. If the text is longer than ``readLimit`` bytes, only its beginning is read.
    static func detail(_ text: String, scalars limit: Int = 500) -> String {
        let redacted = redacted(beginning(of: text)).unicodeScalars
        guard let end = redacted.index(redacted.startIndex, offsetBy: limit, limitedBy: redacted.endIndex) else {
            return String(redacted)
        }
        return String(redacted[..<end])
    }

    /// The maximum number of bytes that ``detail(_:scalars:)`` reads: 64 KiB.
    static let readLimit = 64 * 1_024

    /// Returns the beginning of the text, up to the limit. If the cut may have split a secret in the last word, that
    /// word is left out.
    private static func beginning(of text: String) -> String {
        let bytes = text.utf8
        guard let end = bytes.index(bytes.startIndex, offsetBy: readLimit, limitedBy: bytes.endIndex),
            end < bytes.endIndex
        else { return text }
        let whole = bytes[..<end].lastIndex { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
        return String(decoding: bytes[..<(whole ?? bytes.startIndex)], as: UTF8.self)
    }
}

/// Makes a single pass over UTF-8 text for ``Redaction``. All patterns are ASCII, so every cut falls between
/// characters.
struct RedactionScan {
    let text: UnsafeRawBufferPointer
    /// The output so far, or `nil` if nothing has been removed.
    private(set) var output: [UInt8]?
    /// How far the input has been copied to the output or removed.
    private(set) var copied = 0
    private(set) var position = 0
    /// The position before which an earlier search found no `@`.
    private(set) var noAtBefore = 0

    /// The text with its secrets removed, or `nil` if it has none.
    var result: [UInt8]? {
        output.map { $0 + text[copied...] }
    }

    mutating func run() {
        while position < text.count {
            if text[position].isInWord {
                readWord()
            } else if text.isAuthorityMark(at: position) {
                readAuthority()
            } else {
                position += 1
            }
        }
    }

    /// Removes a range, and continues after it.
    private mutating func redact(_ range: Range<Int>) {
        guard !range.isEmpty else { return }
        // The output is changed in place, because a second reference would make every append copy all of it.
        if output == nil { output = [] }
        output?.append(contentsOf: text[copied..<range.lowerBound])
        output?.append(contentsOf: Redaction.mark.utf8)
        copied = range.upperBound
        position = range.upperBound
    }
}

// MARK: - Keys and their values

extension RedactionScan {
    private mutating func readWord() {
        let start = position
        position = text.end(from: start) { !$0.isInWord }
        let word = SecretWord(UnsafeRawBufferPointer(rebasing: text[start..<position]))
        if let scheme = word.scheme {
            redactCredentials(of: scheme)
        } else if word.isSecretKey {
            redactValue(of: word, from: start)
        }
    }

    /// Redacts the text after `Bearer` or `Basic`.
    private mutating func redactCredentials(of scheme: SecretWord.Scheme) {
        let start = text.skippingBlanks(from: position)
        guard start > position else { return }
        let range = text.quotedValue(from: start) ?? start..<text.endOfValue(from: start)
        guard !scheme.isFollowedBy(plainWord: UnsafeRawBufferPointer(rebasing: text[range])) else { return }
        redact(range)
    }

    private mutating func redactValue(of key: SecretWord, from keyStart: Int) {
        let behindKey = text.skippingQuote(from: position)
        let isInQuotes = behindKey == position && keyStart > 0 && text.isQuote(at: keyStart - 1)
        let next = text.skippingBlanks(from: behindKey)
        guard let separator = text.separator(at: next) else {
            if key.isOption, next > position, text.byte(at: next) != UInt8(ascii: "-") { redactPlain(next) }
            return
        }
        let start = text.skippingBlanks(from: next + separator.length)
        // The key is the end of a path, such as `staff.token: No such file or directory`.
        if separator.isColon, SystemErrorText.starts(text, at: start) { return }
        if let inside = text.quotedValue(from: start) {
            redact(inside)
        } else if key.isHeader, separator.isColon {
            redact(start..<text.endOfLine(from: start, isInQuotes: isInQuotes))
        } else {
            redactPlain(start, isMember: behindKey > position)
        }
    }

    /// Redacts an unquoted value, unless it is a word that cannot be a secret, such as `null` or, in an error text, `cannot`.
    private mutating func redactPlain(_ start: Int, isMember: Bool = false) {
        let range = start..<text.endOfValue(from: start, isMember: isMember)
        let plainWords = ["null", "nil", "none", "true", "false", "cannot"]
        guard !plainWords.contains(where: { text[range].elementsEqual($0.utf8) }) else { return }
        redact(range)
    }
}

// MARK: - URLs

extension RedactionScan {
    /// Redacts the text before the last `@` in an authority.
    ///
    /// URL parsers end the authority at a `/`, even if the `/` is part of a password. If the text before the `/` is not
    /// a host with a port, the search for the `@` therefore continues to the end of the word.
    private mutating func readAuthority() {
        let start = position + 3
        position = start
        let end = text.endOfAuthority(from: start)
        if let at = text[start..<end].lastIndex(of: UInt8(ascii: "@")) {
            redact(start..<at)
        } else if start >= noAtBefore, text.isNoHostWithPort(start..<end) {
            let wordEnd = text.endOfWord(from: start)
            if let at = text[start..<wordEnd].lastIndex(of: UInt8(ascii: "@")) {
                redact(start..<at)
            } else {
                noAtBefore = wordEnd
            }
        }
    }
}

/// A run of letters, digits, `-`, `_` and `.` that may be a key or a scheme.
struct SecretWord {
    /// The maximum number of bytes of a key that are compared. If a key is longer, only its end is compared.
    private static let lengthCompared = 32

    private static let keys = [
        "token", "password", "passwd", "passphrase", "secret", "authorization", "apikey", "privatekey", "accesskey",
        "credential", "credentials", "cookie", "cookies",
    ]
    private static let wholeKeys = ["pwd", "pass"]
    private static let headers = ["authorization", "cookie"]

    private let bytes: UnsafeRawBufferPointer
    /// The end of the word in lowercase, without `-`, `_` and `.`.
    private let name: [UInt8]

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        // Every scheme and key has at least three letters, so shorter words need no further work.
        guard bytes.count >= 3 else {
            name = []
            return
        }
        name = bytes.suffix(SecretWord.lengthCompared).filter { !$0.joinsWords }.map(\.inLowerCase)
    }

    var isSecretKey: Bool {
        SecretWord.keys.contains { ends(in: $0) } || SecretWord.wholeKeys.contains { name.elementsEqual($0.utf8) }
    }

    /// Whether the word is the name of a header whose whole value is secret.
    var isHeader: Bool { SecretWord.headers.contains { ends(in: $0) } }

    /// Whether the word is a command-line option, such as `--token`.
    var isOption: Bool { bytes.starts(with: "--".utf8) }

    private func ends(in key: String) -> Bool {
        name.suffix(key.utf8.count).elementsEqual(key.utf8)
    }
}

extension SecretWord {
    /// An HTTP authentication scheme, which comes before the secret itself (RFC 6750, RFC 7617).
    enum Scheme {
        case bearer
        case basic
        /// The scheme `basic` written in lowercase, which is also an English word.
        case basicInSmallLetters

        private static let plainWords = [
            "auth", "authentication", "authorization", "token", "tokens", "scheme", "credentials", "realm", "header",
            "challenge", "access", "and", "or", "of", "is", "was",
        ]

        /// Returns whether the word after the scheme is ordinary text rather than a secret.
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
