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
