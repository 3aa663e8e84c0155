import JSBridge
import SignalboxCore

/// Builds the script that gives a page its bridge: bridge.js wrapped by browser.js.
enum BrowserScript {
    /// How long a connection must last to reset the reconnection delay, in milliseconds.
    private static let lasting = 2_000
    /// The maximum delay before the first attempt to reconnect, in milliseconds.
    private static let firstWait = 250

    static func text(for configuration: BrowserConfiguration) -> [UInt8] {
        let numbers: [(String, Int)] = [
            ("limit", configuration.limits.bytes), ("inFlight", configuration.messagesInFlight),
            ("waiting", configuration.messagesWaitingInPage),
            ("withoutListener", configuration.messagesWithoutListener),
            ("connectionTimeout", milliseconds(configuration.connectionTimeout)), ("lasting", lasting),
            ("firstWait", firstWait), ("longestWait", milliseconds(configuration.reconnectCap)),
        ]
        var settings = JSONObject()
        settings.add("path", BrowserConfiguration.socketPath)
        for (name, number) in numbers { settings.add(name, number) }
        return PackageResources.browser_js + Array("(".utf8) + settings.bytes + Array(",\n".utf8) + BridgeScript.text
            + Array(");\n".utf8)
    }

    private static func milliseconds(_ duration: Duration) -> Int { Int(duration / .milliseconds(1)) }
}

/// Inserts the bridge script into a page, before any other script.
enum ScriptTag {
    private static let tag = Array("<script src=\"\(BrowserConfiguration.scriptPath)\"></script>".utf8)

    /// Returns the page with the script tag as the first element of its head.
    ///
    /// Before the insertion point, a parser sees only white space, comments, a document type, and the tags `html` and
    /// `head` (HTML, 13.2.6.4.1 to 13.2.6.4.4). If the page has no head tag, the inserted tag starts the head.
    static func added(to page: [UInt8]) -> [UInt8] {
        let offset = page.withUnsafeBytes { HTMLPrologue($0).end }
        return Array(page[..<offset]) + tag + page[offset...]
    }
}

/// Finds where the first element of the head starts. Each byte is read only once.
struct HTMLPrologue {
    private let page: UnsafeRawBufferPointer
    /// The offset at which the head's first element starts or must be inserted.
    private(set) var end = 0

    init(_ page: UnsafeRawBufferPointer) {
        self.page = page
        if has("\u{FEFF}", at: 0) { end = 3 }
        while skipped() {}
    }

    // Skips one item that may precede the elements of the head. The head tag is the last such item.
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
        // `<!-->` and `<!--->` are complete comments (HTML, 13.2.5.43).
        for whole in ["<!-->", "<!--->"] where has(whole, at: start) {
            end = start + whole.utf8.count
            return true
        }
        var index = start + 4
        while index < page.count {
            for close in ["-->", "--!>"] where has(close, at: index) {
                end = index + close.utf8.count
                return true
            }
            index += 1
        }
        return false
    }

    // A quoted attribute value can contain `>` (HTML, 13.2.5.32 to 13.2.5.39).
    private enum TagState {
        case beforeName, name, afterName, beforeValue, unquoted
        case quoted(UInt8)
    }

    private mutating func skip(pastTag start: Int) -> Bool {
        var state = TagState.beforeName
        for index in min(start + 5, page.count)..<page.count {
            let byte = page[index]
            if case .quoted(let quote) = state {
                if byte == quote { state = .beforeName }
            } else if byte == UInt8(ascii: ">") {
                end = index + 1
                return true
            } else {
                state = HTMLPrologue.next(state, byte)
            }
        }
        return false
    }

    private static func next(_ state: TagState, _ byte: UInt8) -> TagState {
        switch (state, byte) {
        case (.name, UInt8(ascii: "=")), (.afterName, UInt8(ascii: "=")): .beforeValue
        case (.name, UInt8(ascii: "/")), (.afterName, UInt8(ascii: "/")), (.beforeName, UInt8(ascii: "/")): .beforeName
        case (.name, _): isSpace(byte) ? .afterName : .name
        case (.beforeName, _): isSpace(byte) ? .beforeName : .name
        case (.afterName, _): isSpace(byte) ? .afterName : .name
        case (.beforeValue, UInt8(ascii: "\"")), (.beforeValue, UInt8(ascii: "'")): .quoted(byte)
        case (.beforeValue, _): isSpace(byte) ? .beforeValue : .unquoted
        case (.unquoted, _): isSpace(byte) ? .beforeName : .unquoted
        case (.quoted, _): state
        }
    }

    // MARK: - Matching

    private func has(_ text: String, at offset: Int) -> Bool {
        page[min(offset, page.count)...].starts(with: text.utf8)
    }

    private func isTag(_ name: StaticString, at offset: Int) -> Bool {
        let after = offset + 1 + name.utf8CodeUnitCount
        guard after < page.count else { return false }
        let isName = name.withUTF8Buffer { wanted in
            page[(offset + 1)..<after].elementsEqual(wanted) { $0 | 0x20 == $1 }
        }
        let next = page[after]
        return isName && (HTMLPrologue.isSpace(next) || next == UInt8(ascii: ">") || next == UInt8(ascii: "/"))
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0A).contains(byte) || (0x0C...0x0D).contains(byte)
    }
}
