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
