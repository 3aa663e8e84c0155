/// Searches for the end of a key's value in a text that ``Redaction`` reads.
extension UnsafeRawBufferPointer {
    /// Returns the range inside a quoted value, or `nil` if no quote opens at `start`. If the quote is not closed, the
    /// range extends to the end of the text.
    func quotedValue(from start: Int) -> Range<Int>? {
        let isEscaped = byte(at: start) == UInt8(ascii: "\\")
        let open = isEscaped ? start + 1 : start
        guard isQuote(at: open), let quote = byte(at: open) else { return nil }
        return (open + 1)..<closing(quote, isEscaped: isEscaped, from: open + 1)
    }

    /// Returns the end of an unquoted value. The value ends at white space, at an `&` outside brackets, or at the quote
    /// or bracket that encloses both key and value. Punctuation that ends a sentence is not part of the value.
    ///
    /// - Parameter isMember: Whether the key is quoted, so that a `,` or the bracket of the object also ends the value.
    func endOfValue(from start: Int, isMember: Bool = false) -> Int {
        var position = start
        var depth = 0
        while let byte = byte(at: position) {
            if byte.opensBracket {
                depth += 1
            } else if byte.closesBracket {
                if depth == 0, isMember || position == start || endsSentence(from: position) { break }
                depth = Swift.max(0, depth - 1)
            } else if depth == 0 {
                if byte.endsValue || isMember && byte == UInt8(ascii: ",") || endsQuotes(at: position) { break }
            } else if byte == UInt8(ascii: "\"") {
                position = closing(byte, isEscaped: false, from: position + 1)
            }
            position += 1
        }
        position = Swift.min(position, count)
        while position > start, self[position - 1].isPunctuation { position -= 1 }
        return position
    }

    /// Returns the end of a header's line or, if the line is in quotes, the end of the quoted text.
    func endOfLine(from start: Int, isInQuotes: Bool) -> Int {
        end(from: start) { byte in
            byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") || isInQuotes && byte.isQuote
        }
    }

    /// Returns the position of the closing quote. If quotes are escaped, this is the position of the backslash before
    /// the quote.
    private func closing(_ quote: UInt8, isEscaped: Bool, from start: Int) -> Int {
        var position = start
        while let byte = byte(at: position) {
            if byte == UInt8(ascii: "\\") {
                if isEscaped, self.byte(at: position + 1) == quote { return position }
                position += isEscaped ? 1 : 2
            } else if byte == quote {
                return position
            } else {
                position += 1
            }
        }
        return count
    }
}

/// Lookups that ``Redaction`` makes at positions in a text. Unless noted otherwise, a position may be out of bounds.
extension UnsafeRawBufferPointer {
    func byte(at position: Int) -> UInt8? {
        indices.contains(position) ? self[position] : nil
    }

    func isQuote(at position: Int) -> Bool { byte(at: position)?.isQuote ?? false }

    /// Returns the position of the first byte from `start` on that ends a run, or the end of the text.
    func end(from start: Int, _ endsRun: (UInt8) -> Bool) -> Int {
        var position = start
        while let byte = byte(at: position), !endsRun(byte) { position += 1 }
        return position
    }

    /// Returns whether the `://` before the authority of a URL (RFC 3986, 3.2) starts at `position`, which must be
    /// within the text.
    func isAuthorityMark(at position: Int) -> Bool {
        self[position] == UInt8(ascii: ":") && byte(at: position + 1) == UInt8(ascii: "/")
            && byte(at: position + 2) == UInt8(ascii: "/")
    }

    func skippingBlanks(from start: Int) -> Int {
        end(from: start) { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
    }

    /// Returns the position after the quote that closes a key, whether or not the quote is escaped.
    func skippingQuote(from start: Int) -> Int {
        let quote = byte(at: start) == UInt8(ascii: "\\") ? start + 1 : start
        return isQuote(at: quote) ? quote + 1 : start
    }

    /// Returns the separator between a key and its value, which is `=`, `=>`, `:`, or a percent-encoded `=` or `:`.
    /// Neither `==` nor the `://` of a URL is a separator.
    func separator(at position: Int) -> (length: Int, isColon: Bool)? {
        switch (byte(at: position), byte(at: position + 1)) {
        case (UInt8(ascii: "="), UInt8(ascii: "=")): return nil
        case (UInt8(ascii: "="), UInt8(ascii: ">")): return (2, false)
        case (UInt8(ascii: "="), _): return (1, false)
        case (UInt8(ascii: ":"), _): return isAuthorityMark(at: position) ? nil : (1, true)
        case (UInt8(ascii: "%"), UInt8(ascii: "3")):
            guard let last = byte(at: position + 2)?.inLowerCase else { return nil }
            return last == UInt8(ascii: "d") || last == UInt8(ascii: "a") ? (3, false) : nil
        default: return nil
        }
    }

    /// Returns whether only closing punctuation follows before the next white space or the end of the text.
    func endsSentence(from start: Int) -> Bool {
        var position = start
        while let byte = byte(at: position) {
            if byte.isBlank { return true }
            // A longer run ends no sentence, and scanning it from each of its bytes would be quadratic.
            guard byte.closesBracket || byte.isPunctuation || isQuote(at: position), position - start < 16 else {
                return false
            }
            position += 1
        }
        return true
    }

    /// Returns whether a quote at `position`, escaped or not, closes the text before it. The byte after the quote
    /// decides.
    func endsQuotes(at position: Int) -> Bool {
        let quote = byte(at: position) == UInt8(ascii: "\\") ? position + 1 : position
        guard isQuote(at: quote) else { return false }
        guard let next = byte(at: quote + 1) else { return true }
        return next.isBlank || next.closesBracket || next.isPunctuation || next.endsValue
    }

    func endOfAuthority(from start: Int) -> Int {
        end(from: start) { $0.endsAuthority || $0.isBlank }
    }

    func endOfWord(from start: Int) -> Int {
        end(from: start) { $0.isBlank || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "<") }
    }

    /// Returns whether the authority has a `:` that is followed by anything other than the digits of a port, as in
    /// `user:password`.
    func isNoHostWithPort(_ authority: Range<Int>) -> Bool {
        guard byte(at: authority.lowerBound) != UInt8(ascii: "["),
            let colon = self[authority].firstIndex(of: UInt8(ascii: ":"))
        else { return false }
        return self[(colon + 1)..<authority.upperBound].contains {
            !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        }
    }
}

/// Classifications of single UTF-8 bytes for ``Redaction``.
extension UInt8 {
    var inLowerCase: UInt8 {
        self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
    }

    /// Whether the byte is `-`, `_` or `.`, which join the words of a key.
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

    var isQuote: Bool {
        self == UInt8(ascii: "\"") || self == UInt8(ascii: "'")
    }

    var opensBracket: Bool {
        self == UInt8(ascii: "(") || self == UInt8(ascii: "[") || self == UInt8(ascii: "{")
    }

    var closesBracket: Bool {
        self == UInt8(ascii: ")") || self == UInt8(ascii: "]") || self == UInt8(ascii: "}")
    }

    /// Whether the byte is one of `, ; : . ! ?`.
    var isPunctuation: Bool {
        ",;:.!?".utf8.contains(self)
    }

    /// Whether the byte cannot be part of an unquoted value.
    var endsValue: Bool {
        isBlank || self == UInt8(ascii: "&") || self == UInt8(ascii: "<") || self == UInt8(ascii: ">")
    }

    /// Whether the byte ends the authority of a URL, whatever text surrounds the URL.
    var endsAuthority: Bool {
        #"/?#\"<>"#.utf8.contains(self)
    }
}
