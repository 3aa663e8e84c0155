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
