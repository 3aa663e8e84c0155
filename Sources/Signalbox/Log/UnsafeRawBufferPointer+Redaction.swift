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
