import SignalboxCore

/// A message of browser.js: a line that says what it is, and JSON behind it.
///
/// Anybody who has the token can send anything: what is in no such form is an error, and nothing more.
struct PageFrame: Equatable {
    /// What the page wants.
    enum Kind: Equatable {
        /// An action. `handler` is what was posted to, as the page wrote it in JSON; without one it is a standard envelope.
        /// `timeout` is in milliseconds from now, 0 for none.
        case call(number: UInt64, timeout: UInt64, handler: Range<Int>?)
        /// An action that is too large; what follows is its beginning.
        case large(number: UInt64)
        /// What the program asked with this number is answered.
        case answer(number: UInt64, AnswerKind)
        /// The document's title has changed.
        case title
    }

    /// What an answer is.
    enum AnswerKind: String {
        /// What the listener returned.
        case returned
        /// What it threw, in words.
        case threw
        /// It returned what has no JSON form; why, in words.
        case invalidReply
        /// There was no listener, and no more could wait for one.
        case full
    }

    /// The longest first line, in bytes.
    static let longestLine = 1_024
    /// The largest number: what JavaScript counts exactly to.
    private static let largestNumber: UInt64 = 1 << 53

    let kind: Kind
    /// Where the JSON is in the message; empty when there is none.
    let json: Range<Int>

    /// - Throws: `invalidSyntax` when the first line is none of these.
    init(_ message: UnsafeRawBufferPointer) throws(BodyError) {
        let end = message.prefix(PageFrame.longestLine).firstIndex(of: UInt8(ascii: "\n"))
        guard end != nil || message.count <= PageFrame.longestLine else { throw PageFrame.fault("a longer first line") }
        json = min((end ?? message.count) + 1, message.count)..<message.count
        let words = PageFrame.words(in: message, before: end ?? message.count)
        guard let kind = PageFrame.kind(words, message) else { throw PageFrame.fault("another first line") }
        self.kind = kind
    }

    private static func fault(_ found: String) -> BodyError {
        BodyError(.invalidSyntax, offset: 0, detail: "\(found) than browser.js writes")
    }

    // At most four: a handler's name may have spaces.
    private static func words(in message: UnsafeRawBufferPointer, before end: Int) -> [Range<Int>] {
        var words: [Range<Int>] = []
        var start = 0
        while words.count < 3, let space = message[start..<end].firstIndex(of: UInt8(ascii: " ")) {
            words.append(start..<space)
            start = space + 1
        }
        words.append(start..<end)
        return words
    }

    private static func kind(_ words: [Range<Int>], _ message: UnsafeRawBufferPointer) -> Kind? {
        func isWord(_ text: StaticString) -> Bool {
            text.withUTF8Buffer { $0.elementsEqual(message[words[0]]) }
        }
        guard words.count > 1 else { return isWord("title") ? .title : nil }
        guard let number = PageFrame.number(in: message[words[1]]) else { return nil }
        guard words.count > 2 else { return isWord("large") ? .large(number: number) : nil }
        if isWord("call") {
            guard let timeout = PageFrame.number(in: message[words[2]]) else { return nil }
            return .call(number: number, timeout: timeout, handler: words.count == 4 ? words[3] : nil)
        }
        guard words.count == 3, isWord("answer") else { return nil }
        return AnswerKind(rawValue: String(decoding: message[words[2]], as: UTF8.self)).map {
            .answer(number: number, $0)
        }
    }

    private static func number(in digits: Slice<UnsafeRawBufferPointer>) -> UInt64? {
        guard (1...16).contains(digits.count) else { return nil }
        var number: UInt64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            number = number * 10 + UInt64(digit - UInt8(ascii: "0"))
        }
        return number <= largestNumber ? number : nil
    }
}
