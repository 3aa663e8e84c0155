import SignalboxCore

/// Takes secrets out of text that is going to be shown: a log line, an outcome's detail, a span.
///
/// It goes by form, as nothing else is known of the text of a plugin or of an error:
/// - the value of a secret's key, in `key=value`, `key: value`, `"key":"value"` and `--key value`, also inside a URL's
///   query and in JSON that is quoted once more. A key is a secret's when it ends, whatever its case and without `-`, `_`
///   and `.`, in one of `token`, `password`, `passwd`, `passphrase`, `secret`, `authorization`, `apikey`, `privatekey`,
///   `accesskey`, `credential`, `credentials`, `cookie`, `cookies`, or is `pwd` or `pass`. The values of the headers
///   `Authorization` and `Cookie` go to the end of their line;
/// - what follows `Bearer` or `Basic`;
/// - what stands before the `@` of a URL (`scheme://user:password@host`).
///
/// What has another form is not found: a password of several words without quotes is shown from its second word on. The
/// time is proportional to the text's length.
public enum Redaction {
    /// What is shown in a secret's place: `[redacted]`.
    public static let mark = "[redacted]"

    /// The text without its secrets; the same text when it has none.
    public static func redacted(_ text: String) -> String {
        var text = text
        let replaced = text.withUTF8 { bytes -> [UInt8]? in
            var scan = RedactionScan(UnsafeRawBufferPointer(bytes))
            scan.run()
            return scan.result
        }
        return replaced.map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    /// The text without its secrets, in one line: for text from outside that is put into a log line. Control characters, line
    /// and paragraph separators and the marks that turn the direction of writing are shown as `\u{...}`.
    public static func line(_ text: String) -> String {
        LogText.shown(text)
    }

    /// The text without its secrets, and no longer than so many Unicode scalars, for what is kept and sent on. Of a text
    /// longer than ``readLimit`` bytes only the beginning is looked at.
    static func detail(_ text: String, scalars limit: Int = 500) -> String {
        let redacted = redacted(beginning(of: text)).unicodeScalars
        guard let end = redacted.index(redacted.startIndex, offsetBy: limit, limitedBy: redacted.endIndex) else {
            return String(redacted)
        }
        return String(redacted[..<end])
    }

    /// The most bytes of one text that ``detail(_:scalars:)`` reads: 64 KiB.
    static let readLimit = 64 * 1_024

    /// What lies within the limit, without a last word that may be half a secret.
    private static func beginning(of text: String) -> String {
        let bytes = text.utf8
        guard let end = bytes.index(bytes.startIndex, offsetBy: readLimit, limitedBy: bytes.endIndex),
            end < bytes.endIndex
        else { return text }
        let whole = bytes[..<end].lastIndex { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
        return String(decoding: bytes[..<(whole ?? bytes.startIndex)], as: UTF8.self)
    }
}

/// Text from outside, made safe to be one line of a log: control characters, line and paragraph separators and the marks
/// that turn the direction of writing are shown as `\u{...}`.
enum LogText {
    /// The text without secrets, in one line.
    static func shown(_ text: String) -> String {
        escaped(Redaction.redacted(text))
    }

    static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: \.isUnsafeInLine) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            if scalar.isUnsafeInLine {
                escaped += scalar.lineEscape
            } else {
                escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

/// One pass over a text in UTF-8 that finds what ``Redaction`` takes out. All that it looks for is ASCII, so every cut is
/// between characters.
struct RedactionScan {
    let text: UnsafeRawBufferPointer
    /// What has been copied so far; `nil` as long as nothing was taken out.
    private var output: [UInt8]?
    /// Everything before it is in the output, or is to be copied as it is.
    private var copied = 0
    private var place = 0
    /// No `@` lies between the place at which one was last looked for and this one.
    private var noAtBefore = 0

    init(_ text: UnsafeRawBufferPointer) {
        self.text = text
    }

    /// The text without its secrets, or `nil` when it had none.
    var result: [UInt8]? {
        output.map { $0 + text[copied...] }
    }

    mutating func run() {
        while place < text.count {
            if text[place].isInWord {
                readWord()
            } else if text.isAuthorityMark(at: place) {
                readAuthority()
            } else {
                place += 1
            }
        }
    }

    /// Takes a range out, and goes on behind it.
    private mutating func redact(_ range: Range<Int>) {
        guard !range.isEmpty else { return }
        // In place: a second reference would make each addition copy all of it.
        if output == nil { output = [] }
        output?.append(contentsOf: text[copied..<range.lowerBound])
        output?.append(contentsOf: Redaction.mark.utf8)
        copied = range.upperBound
        place = range.upperBound
    }
}

// MARK: - Keys and their values

extension RedactionScan {
    private mutating func readWord() {
        let start = place
        while place < text.count, text[place].isInWord { place += 1 }
        let word = SecretWord(UnsafeRawBufferPointer(rebasing: text[start..<place]))
        if let scheme = word.scheme {
            redactCredentials(of: scheme)
        } else if word.isSecretKey {
            redactValue(of: word, from: start)
        }
    }

    /// What follows `Bearer` or `Basic`.
    private mutating func redactCredentials(of scheme: SecretWord.Scheme) {
        let start = text.skippingBlanks(from: place)
        guard start > place else { return }
        let scan = ValueScan(text)
        let range = scan.quoted(from: start) ?? start..<scan.end(from: start)
        guard !scheme.isFollowedBy(plainWord: UnsafeRawBufferPointer(rebasing: text[range])) else { return }
        redact(range)
    }

    private mutating func redactValue(of key: SecretWord, from keyStart: Int) {
        let scan = ValueScan(text)
        let behindKey = text.skippingQuote(from: place)
        let isInQuotes = behindKey == place && keyStart > 0 && text.isQuote(at: keyStart - 1)
        let next = text.skippingBlanks(from: behindKey)
        guard let separator = text.separator(at: next) else {
            if key.isOption, next > place, text.byte(at: next) != UInt8(ascii: "-") { redactPlain(next, scan) }
            return
        }
        let start = text.skippingBlanks(from: next + separator.length)
        if let inside = scan.quoted(from: start) {
            redact(inside)
        } else if key.isHeader, separator.isColon {
            redact(start..<scan.endOfLine(from: start, isInQuotes: isInQuotes))
        } else {
            redactPlain(start, scan, isMember: behindKey > place)
        }
    }

    /// A value without quotes. What says that there is no secret stays.
    private mutating func redactPlain(_ start: Int, _ scan: ValueScan, isMember: Bool = false) {
        let range = start..<scan.end(from: start, isMember: isMember)
        guard !["null", "nil", "none", "true", "false"].contains(where: { text[range].elementsEqual($0.utf8) }) else {
            return
        }
        redact(range)
    }
}

// MARK: - URLs

extension RedactionScan {
    /// What stands before the last `@` of an authority. A `/` in a password ends the authority for every reader of URLs, so
    /// where the text before it is no host with a port, the `@` is looked for as far as the word goes.
    private mutating func readAuthority() {
        let start = place + 3
        place = start
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
