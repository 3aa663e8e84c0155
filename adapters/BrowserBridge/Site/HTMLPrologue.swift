/// What stands in a page before the first element of its head. Each byte is looked at once.
struct HTMLPrologue {
    private let page: UnsafeRawBufferPointer
    /// Where the first element of the head is, or would be.
    private(set) var end = 0

    init(_ page: UnsafeRawBufferPointer) {
        self.page = page
        if has("\u{FEFF}", at: 0) { end = 3 }
        while skipped() {}
    }

    // What may come before the head's elements. The head's own tag is the last of it.
    private mutating func skipped() -> Bool {
        let start = end
        while end < page.count, HTMLPrologue.isSpace(page[end]) { end += 1 }
        guard end < page.count, page[end] == UInt8(ascii: "<") else {
            end = start
            return false
        }
        if has("<!--", at: end) { return skip(pastComment: end) }
        if has("<!", at: end) || has("<?", at: end) { return skip(past: UInt8(ascii: ">"), from: end) }
        if isTag("html", at: end) { return skip(pastTag: end) }
        if isTag("head", at: end), skip(pastTag: end) { return false }
        return false
    }

    // MARK: - Skipping

    private mutating func skip(past byte: UInt8, from start: Int) -> Bool {
        guard let found = page[start...].firstIndex(of: byte) else { return false }
        end = found + 1
        return true
    }

    private mutating func skip(pastComment start: Int) -> Bool {
        // `<!-->` and `<!--->` are whole comments (HTML, 13.2.5.43).
        for whole in ["<!-->", "<!--->"] where has(whole, at: start) {
            end = start + whole.utf8.count
            return true
        }
        var place = start + 4
        while place < page.count {
            for close in ["-->", "--!>"] where has(close, at: place) {
                end = place + close.utf8.count
                return true
            }
            place += 1
        }
        return false
    }

    // An attribute's value in quotes may have a `>` (HTML, 13.2.5.32 to 13.2.5.39).
    private enum Place {
        case beforeName, name, afterName, beforeValue, unquoted
        case quoted(UInt8)
    }

    private mutating func skip(pastTag start: Int) -> Bool {
        var place = Place.beforeName
        for index in min(start + 5, page.count)..<page.count {
            let byte = page[index]
            if case .quoted(let quote) = place {
                if byte == quote { place = .beforeName }
            } else if byte == UInt8(ascii: ">") {
                end = index + 1
                return true
            } else {
                place = HTMLPrologue.next(place, byte)
            }
        }
        return false
    }

    private static func next(_ place: Place, _ byte: UInt8) -> Place {
        switch (place, byte) {
        case (.name, UInt8(ascii: "=")), (.afterName, UInt8(ascii: "=")): .beforeValue
        case (.name, UInt8(ascii: "/")), (.afterName, UInt8(ascii: "/")), (.beforeName, UInt8(ascii: "/")): .beforeName
        case (.name, _): isSpace(byte) ? .afterName : .name
        case (.beforeName, _): isSpace(byte) ? .beforeName : .name
        case (.afterName, _): isSpace(byte) ? .afterName : .name
        case (.beforeValue, UInt8(ascii: "\"")), (.beforeValue, UInt8(ascii: "'")): .quoted(byte)
        case (.beforeValue, _): isSpace(byte) ? .beforeValue : .unquoted
        case (.unquoted, _): isSpace(byte) ? .beforeName : .unquoted
        case (.quoted, _): place
        }
    }

    // MARK: - Looking

    private func has(_ text: String, at place: Int) -> Bool {
        page[min(place, page.count)...].starts(with: text.utf8)
    }

    private func isTag(_ name: StaticString, at place: Int) -> Bool {
        let after = place + 1 + name.utf8CodeUnitCount
        guard after < page.count else { return false }
        let isName = name.withUTF8Buffer { wanted in
            page[(place + 1)..<after].elementsEqual(wanted) { $0 | 0x20 == $1 }
        }
        let next = page[after]
        return isName && (HTMLPrologue.isSpace(next) || next == UInt8(ascii: ">") || next == UInt8(ascii: "/"))
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0A).contains(byte) || (0x0C...0x0D).contains(byte)
    }
}
