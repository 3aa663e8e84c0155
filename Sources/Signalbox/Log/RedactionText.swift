/// Finds the end of a key's value for ``Redaction``.
extension UnsafeRawBufferPointer {
    /// Returns the range inside a quoted value, or `nil` if there is no opening quote at `start`. If the closing quote
    /// is missing, the range extends to the end of the text.
    func quotedValue(from start: Int) -> Range<Int>? {
        let isEscaped = byte(at: start) == UInt8(ascii: "\\")
        let open = isEscaped ? start + 1 : start
        guard isQuote(at: open), let quote = byte(at: open) else { return nil }
        return (open + 1)..<closing(quote, isEscaped: isEscaped, from: open + 1)
    }

    /// Returns the end of an unquoted value. The value ends at white space, at an `&` outside brackets, or at the quote
    /// or bracket that encloses both the key and the value. Punctuation at the end of a sentence is not part of the
    /// value.
    ///
    /// - Parameter isMember: Whether the key is quoted. If it is, a `,` or the closing bracket of the object also ends
    ///   the value.
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

    /// Returns the end of a header's line. If the line is in quotes, it ends where the quoted text ends.
    func endOfLine(from start: Int, isInQuotes: Bool) -> Int {
        end(from: start) { byte in
            byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") || isInQuotes && byte.isQuote
        }
    }

    /// Returns the position of the closing quote. If the quotes are escaped, this is the position of the backslash
    /// before the closing quote.
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

/// Looks at individual positions in a text for ``Redaction``. Positions may be out of bounds, unless noted otherwise.
extension UnsafeRawBufferPointer {
    func byte(at position: Int) -> UInt8? {
        indices.contains(position) ? self[position] : nil
    }

    func isQuote(at position: Int) -> Bool { byte(at: position)?.isQuote ?? false }

    /// Returns the position of the first byte at or after `start` that ends a run, or the end of the text if no byte
    /// does.
    func end(from start: Int, _ endsRun: (UInt8) -> Bool) -> Int {
        var position = start
        while let byte = byte(at: position), !endsRun(byte) { position += 1 }
        return position
    }

    /// Returns whether the `://` before a URL's authority (RFC 3986, 3.2) starts at `position`, which must be within
    /// the text.
    func isAuthorityMark(at position: Int) -> Bool {
        self[position] == UInt8(ascii: ":") && byte(at: position + 1) == UInt8(ascii: "/")
            && byte(at: position + 2) == UInt8(ascii: "/")
    }

    func skippingBlanks(from start: Int) -> Int {
        end(from: start) { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
    }

    /// Returns the position after the quote that closes a key. The quote may be escaped.
    func skippingQuote(from start: Int) -> Int {
        let quote = byte(at: start) == UInt8(ascii: "\\") ? start + 1 : start
        return isQuote(at: quote) ? quote + 1 : start
    }

    /// Returns the separator between a key and its value: `=`, `=>`, `:`, or a percent-encoded `=` or `:`. Neither `==`
    /// nor the `://` in a URL is a separator.
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

    /// Returns whether there is only closing punctuation before the next white space or the end of the text.
    func endsSentence(from start: Int) -> Bool {
        var position = start
        while let byte = byte(at: position) {
            if byte.isBlank { return true }
            // A longer run does not end a sentence, and scanning it again from each of its bytes would take quadratic
            // time.
            guard byte.closesBracket || byte.isPunctuation || isQuote(at: position), position - start < 16 else {
                return false
            }
            position += 1
        }
        return true
    }

    /// Returns whether a quote at `position` closes the text before it, which depends on the byte after the quote. The
    /// quote may be escaped.
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

/// Classifies single UTF-8 bytes for ``Redaction``.
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

    /// Whether the byte ends a URL's authority, regardless of the text around the URL.
    var endsAuthority: Bool {
        #"/?#\"<>"#.utf8.contains(self)
    }
}
