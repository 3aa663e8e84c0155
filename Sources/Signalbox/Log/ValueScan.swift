/// Where the value of a key ends, in a text that ``Redaction`` reads.
struct ValueScan {
    private let text: UnsafeRawBufferPointer

    init(_ text: UnsafeRawBufferPointer) {
        self.text = text
    }

    /// The inside of a value in quotes; to the end of the text when they are not closed. `nil` when no quote opens it.
    func quoted(from start: Int) -> Range<Int>? {
        let isEscaped = text.byte(at: start) == UInt8(ascii: "\\")
        let open = isEscaped ? start + 1 : start
        guard text.isQuote(at: open), let quote = text.byte(at: open) else { return nil }
        return (open + 1)..<closing(quote, isEscaped: isEscaped, from: open + 1)
    }

    /// The end of a value without quotes: a blank or an `&` outside of brackets, or the quote or bracket that encloses key
    /// and value. Marks of a sentence behind it are not part of it.
    ///
    /// - Parameter isMember: whether it is the value of a quoted key, and so ends before a `,` or the object's bracket too.
    func end(from start: Int, isMember: Bool = false) -> Int {
        var place = start
        var depth = 0
        while let byte = text.byte(at: place) {
            if byte.opensBracket {
                depth += 1
            } else if byte.closesBracket {
                if depth == 0, isMember || place == start || text.endsSentence(from: place) { break }
                depth = max(0, depth - 1)
            } else if depth == 0 {
                if byte.endsValue || isMember && byte == UInt8(ascii: ",") || text.endsQuotes(at: place) { break }
            } else if byte == UInt8(ascii: "\"") {
                place = closing(byte, isEscaped: false, from: place + 1)
            }
            place += 1
        }
        place = min(place, text.count)
        while place > start, text[place - 1].isSentenceMark { place -= 1 }
        return place
    }

    /// The end of a header's line, or of the quotes around it.
    func endOfLine(from start: Int, isInQuotes: Bool) -> Int {
        var place = start
        while let byte = text.byte(at: place), byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") {
            if isInQuotes, text.isQuote(at: place) { break }
            place += 1
        }
        return place
    }

    /// The place of the quote that closes, of the backslash before it where quotes are escaped.
    private func closing(_ quote: UInt8, isEscaped: Bool, from start: Int) -> Int {
        var place = start
        while let byte = text.byte(at: place) {
            if byte == UInt8(ascii: "\\") {
                if isEscaped, text.byte(at: place + 1) == quote { return place }
                place += isEscaped ? 1 : 2
            } else if byte == quote {
                return place
            } else {
                place += 1
            }
        }
        return text.count
    }
}

/// What ``Redaction`` asks about places in a text; none needs to be within it.
extension UnsafeRawBufferPointer {
    func byte(at place: Int) -> UInt8? {
        indices.contains(place) ? self[place] : nil
    }

    func isQuote(at place: Int) -> Bool {
        byte(at: place) == UInt8(ascii: "\"") || byte(at: place) == UInt8(ascii: "'")
    }

    /// `://`, behind which a URL's authority begins (RFC 3986, 3.2).
    func isAuthorityMark(at place: Int) -> Bool {
        self[place] == UInt8(ascii: ":") && byte(at: place + 1) == UInt8(ascii: "/")
            && byte(at: place + 2) == UInt8(ascii: "/")
    }

    func skippingBlanks(from start: Int) -> Int {
        var place = start
        while let byte = byte(at: place), byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") { place += 1 }
        return place
    }

    /// Behind the quote that closes a key, escaped or not.
    func skippingQuote(from start: Int) -> Int {
        let quote = byte(at: start) == UInt8(ascii: "\\") ? start + 1 : start
        return isQuote(at: quote) ? quote + 1 : start
    }

    /// What stands between a key and its value: `=`, `=>`, `:`, or one of them percent-encoded. Neither `==` nor the `://`
    /// of a URL.
    func separator(at place: Int) -> (length: Int, isColon: Bool)? {
        switch (byte(at: place), byte(at: place + 1)) {
        case (UInt8(ascii: "="), UInt8(ascii: "=")): return nil
        case (UInt8(ascii: "="), UInt8(ascii: ">")): return (2, false)
        case (UInt8(ascii: "="), _): return (1, false)
        case (UInt8(ascii: ":"), _): return isAuthorityMark(at: place) ? nil : (1, true)
        case (UInt8(ascii: "%"), UInt8(ascii: "3")):
            guard let last = byte(at: place + 2)?.inLowerCase else { return nil }
            return last == UInt8(ascii: "d") || last == UInt8(ascii: "a") ? (3, false) : nil
        default: return nil
        }
    }

    /// Whether only closing marks follow before the next blank, or before the end.
    func endsSentence(from start: Int) -> Bool {
        var place = start
        while let byte = byte(at: place) {
            if byte.isBlank { return true }
            // More than a few closing marks are no sentence's end, and looking on from each would be quadratic.
            guard byte.closesBracket || byte.isSentenceMark || isQuote(at: place), place - start < 16 else {
                return false
            }
            place += 1
        }
        return true
    }

    /// Whether a quote, escaped or not, stands here that encloses what was before it, as what follows shows.
    func endsQuotes(at place: Int) -> Bool {
        let quote = byte(at: place) == UInt8(ascii: "\\") ? place + 1 : place
        guard isQuote(at: quote) else { return false }
        guard let next = byte(at: quote + 1) else { return true }
        return next.isBlank || next.closesBracket || next.isSentenceMark || next.endsValue
    }

    func endOfAuthority(from start: Int) -> Int {
        var place = start
        while let byte = byte(at: place), !byte.endsAuthority, !byte.isBlank { place += 1 }
        return place
    }

    func endOfWord(from start: Int) -> Int {
        var place = start
        while let byte = byte(at: place), !byte.isBlank, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "<") {
            place += 1
        }
        return place
    }

    /// Whether an authority has a `:` that is followed by more than a port's digits, as `user:password` has.
    func isNoHostWithPort(_ authority: Range<Int>) -> Bool {
        guard byte(at: authority.lowerBound) != UInt8(ascii: "["),
            let colon = self[authority].firstIndex(of: UInt8(ascii: ":"))
        else { return false }
        return self[(colon + 1)..<authority.upperBound].contains {
            !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        }
    }
}

/// What ``Redaction`` asks about single bytes of UTF-8.
extension UInt8 {
    var inLowerCase: UInt8 {
        self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
    }

    /// `-`, `_`, `.`: they join the words of a key.
    var joinsWords: Bool {
        self == UInt8(ascii: "-") || self == UInt8(ascii: "_") || self == UInt8(ascii: ".")
    }

    var isInWord: Bool {
        let small = inLowerCase
        return (small >= UInt8(ascii: "a") && small <= UInt8(ascii: "z"))
            || (self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9")) || joinsWords
    }

    var isBlank: Bool {
        self == UInt8(ascii: " ") || (self >= 0x09 && self <= 0x0d)
    }

    var opensBracket: Bool {
        self == UInt8(ascii: "(") || self == UInt8(ascii: "[") || self == UInt8(ascii: "{")
    }

    var closesBracket: Bool {
        self == UInt8(ascii: ")") || self == UInt8(ascii: "]") || self == UInt8(ascii: "}")
    }

    /// `, ; : . ! ?`
    var isSentenceMark: Bool {
        switch self {
        case UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: ":"), UInt8(ascii: "."), UInt8(ascii: "!"),
            UInt8(ascii: "?"):
            true
        default: false
        }
    }

    /// Whether a value without quotes cannot have it.
    var endsValue: Bool {
        isBlank || self == UInt8(ascii: "&") || self == UInt8(ascii: "<") || self == UInt8(ascii: ">")
    }

    /// Whether a URL's authority ends before it, in whatever text the URL stands.
    var endsAuthority: Bool {
        switch self {
        case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "\\"), UInt8(ascii: "\""),
            UInt8(ascii: "<"), UInt8(ascii: ">"):
            true
        default: false
        }
    }
}
