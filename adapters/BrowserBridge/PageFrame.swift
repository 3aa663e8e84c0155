import AdapterSupport
import JSBridge
import SignalboxCore

/// A message from browser.js: a header line followed by JSON.
///
/// Any program that has the token can send anything, so a malformed message must cause nothing worse than an error.
struct PageFrame: Equatable {
    /// The kind of message.
    enum Kind: Equatable {
        /// An action. If `handler` is present, it is the handler's name as JSON, written by the page. Otherwise, the
        /// JSON that follows is a standard envelope. `timeout` is in milliseconds from receipt; 0 means no timeout.
        case call(number: UInt64, timeout: UInt64, handler: Range<Int>?)
        /// An action that is too large, of which only the beginning follows.
        case large(number: UInt64)
        /// The page's answer to the program's call with this number.
        case answer(number: UInt64, PageAnswerKind)
        /// The document's title has changed.
        case title
    }

    /// The maximum length of the header line, in bytes.
    static let longestLine = 1_024
    /// The largest number up to which JavaScript represents every integer exactly.
    private static let largestNumber: UInt64 = 1 << 53

    let kind: Kind
    /// The range of the JSON in the message. Empty if there is no JSON.
    let json: Range<Int>

    /// Parses the header line.
    ///
    /// - Throws: `invalidSyntax` if the header line is malformed.
    init(_ message: UnsafeRawBufferPointer) throws(BodyError) {
        let end = message.prefix(PageFrame.longestLine).firstIndex(of: UInt8(ascii: "\n"))
        guard end != nil || message.count <= PageFrame.longestLine else {
            throw PageFrame.invalid("a longer first line")
        }
        json = min((end ?? message.count) + 1, message.count)..<message.count
        let fields = PageFrame.fields(in: message, before: end ?? message.count)
        guard let kind = PageFrame.kind(fields, message) else { throw PageFrame.invalid("a different first line") }
        self.kind = kind
    }

    private static func invalid(_ found: String) -> BodyError {
        BodyError(.invalidSyntax, offset: 0, detail: "\(found) than browser.js writes")
    }

    // There are at most four fields, because a handler's name may contain spaces.
    private static func fields(in message: UnsafeRawBufferPointer, before end: Int) -> [Range<Int>] {
        var fields: [Range<Int>] = []
        var start = 0
        while fields.count < 3, let space = message[start..<end].firstIndex(of: UInt8(ascii: " ")) {
            fields.append(start..<space)
            start = space + 1
        }
        fields.append(start..<end)
        return fields
    }

    private static func kind(_ fields: [Range<Int>], _ message: UnsafeRawBufferPointer) -> Kind? {
        func isField(_ text: StaticString) -> Bool {
            text.withUTF8Buffer { $0.elementsEqual(message[fields[0]]) }
        }
        guard fields.count > 1 else { return isField("title") ? .title : nil }
        guard let number = PageFrame.number(in: message[fields[1]]) else { return nil }
        guard fields.count > 2 else { return isField("large") ? .large(number: number) : nil }
        if isField("call") {
            guard let timeout = PageFrame.number(in: message[fields[2]]) else { return nil }
            return .call(number: number, timeout: timeout, handler: fields.count == 4 ? fields[3] : nil)
        }
        guard fields.count == 3, isField("answer") else { return nil }
        return PageAnswerKind(rawValue: String(decoding: message[fields[2]], as: UTF8.self)).map {
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

/// Encodes messages to browser.js: a header line followed by JSON.
enum ProgramFrame {
    /// Encodes the outcome of a call made by the page.
    static func outcome(_ number: UInt64, _ outcome: Outcome) -> [UInt8] {
        guard case .handled(let reply) = outcome else {
            return refusal(number, ErrorReply(outcome, to: "page"))
        }
        var frame = Array("reply \(number)".utf8)
        if let reply, !reply.isEmpty {
            frame.append(UInt8(ascii: "\n"))
            frame += reply
        }
        return frame
    }

    /// Encodes that a page's call is accepted. Earlier versions of browser.js, which a page that reconnects may have, ignore a
    /// message whose first line has no number.
    static func accepted(_ number: UInt64) -> [UInt8] { Array("accepted\n\(number)".utf8) }

    /// Encodes the answer to a page's call that was handled, but whose reply cannot be sent.
    static func unsent(_ number: UInt64, _ refusal: SendRefused) -> [UInt8] {
        let detail = "the reply cannot be sent to the page: \(refusal)"
        return frame("refuse \(number)", list: [.some("threw"), detail, nil, "failed"])
    }

    private static func refusal(_ number: UInt64, _ refusal: ErrorReply) -> [UInt8] {
        frame("refuse \(number)", list: [refusal.code, refusal.message, refusal.path, refusal.outcome])
    }

    private static func frame(_ line: String, list: [String?]) -> [UInt8] {
        let items = list.map { $0.map(JSONText.quoted) ?? "null" }
        return Array("\(line)\n[\(items.joined(separator: ","))]".utf8)
    }

    /// Encodes a message that the program sends to the page.
    ///
    /// - Parameter number: The number that the page's answer refers to, or 0 if no answer is expected.
    static func message(_ number: UInt64, _ action: ActionName, _ id: ActionID?, _ body: Bytes) -> [UInt8] {
        var text = JSONText()
        text.append(literal: "message \(number) \(action.text)\n")
        if let id { text.append(string: id.text) }
        text.append(UInt8(ascii: "\n"))
        text.append(json: body)
        return text.bytes
    }
}

extension Bytes {
    /// Returns the bytes in the given range, without copying them.
    ///
    /// - Precondition: The range is within bounds.
    func part(_ range: Range<Int>) -> Bytes {
        precondition(range.upperBound <= count, "a part must lie within its whole")
        return Bytes(storage: storage, start: start + UInt32(range.lowerBound), length: UInt32(range.count))
    }
}
