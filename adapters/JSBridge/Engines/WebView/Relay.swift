import AdapterThreads
import SignalboxCore
import SignalboxRoutes

/// Reads a text that relay.js posts: a line with the document's token and origin, then records of three lines each.
///
/// The process that sent it may be in a stranger's hands. Each byte is looked at once, and nothing is kept.
struct RelayReader {
    private let bytes: UnsafeRawBufferPointer
    /// Where the next line begins; beyond the end when there is none.
    private var next = 0
    private var line = 0

    /// Hexadecimal digits of a token.
    static let tokenLength = 16
    /// The most bytes of an origin: a host has at most 253, and schemes are short.
    static let longestOrigin = 512
    /// The most bytes of a record's first line.
    static let longestHead = 128

    /// - Parameter bytes: must outlive the reader.
    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// The first line. To be called once, before ``record()``.
    mutating func header() throws(RelayTextError) -> (token: String, origin: String) {
        let words = try words(atMost: RelayReader.tokenLength + 1 + RelayReader.longestOrigin)
        guard words.count == 2, words[0].utf8.count == RelayReader.tokenLength, words[0].utf8.allSatisfy(\.isHexDigit)
        else { throw fault("a token and an origin expected") }
        return (words[0], words[1])
    }

    /// The next record, or `nil` at the end.
    mutating func record() throws(RelayTextError) -> RelayRecord? {
        guard next <= bytes.count else { return nil }
        let words = try words(atMost: RelayReader.longestHead)
        let place = line
        guard let second = nextLine(), let third = nextLine() else { throw fault("a record of three lines expected") }
        guard let record = read(words, second, third) else {
            throw RelayTextError(line: place, detail: "not a known record")
        }
        return record
    }

    private func read(_ words: [String], _ second: Range<Int>, _ third: Range<Int>) -> RelayRecord? {
        switch (words[0], words.count) {
        case ("call", 4):
            guard let number = RelayReader.number(words[1]), let timeout = RelayReader.timeout(words[2]),
                let units = RelayReader.number(words[3])
            else { return nil }
            return .call(number: number, timeout: timeout, units: Int(units), handler: second, json: third)
        case ("answer", 3):
            guard second.isEmpty, let number = RelayReader.number(words[1]),
                let kind = RelayRecord.AnswerKind(rawValue: words[2])
            else { return nil }
            return .answer(number: number, kind, text: third)
        case ("warn", 1): return second.isEmpty ? .warn(third) : nil
        case ("error", 1): return second.isEmpty ? .error(third) : nil
        default: return second.isEmpty && third.isEmpty ? readCounts(words) : nil
        }
    }

    private func readCounts(_ words: [String]) -> RelayRecord? {
        let counts = words.dropFirst().compactMap { RelayReader.number($0).map { Int($0) } }
        guard counts.count == words.count - 1 else { return nil }
        switch (words[0], counts.count) {
        case ("hello", 0): return .hello
        case ("full", 1): return .full(counts[0])
        case ("withheld", 2): return .withheld(lines: counts[0], errors: counts[1])
        default: return nil
        }
    }

    // MARK: - Lines

    private func fault(_ detail: String) -> RelayTextError {
        RelayTextError(line: line, detail: detail)
    }

    /// The next line without its end, or `nil` at the end of the text.
    private mutating func nextLine() -> Range<Int>? {
        guard next <= bytes.count else { return nil }
        line += 1
        let start = next
        let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        next = end + 1
        return start..<end
    }

    /// The words of the next line: at least one, in ASCII.
    private mutating func words(atMost limit: Int) throws(RelayTextError) -> [String] {
        guard let range = nextLine(), range.count <= limit else { throw fault("a short line expected") }
        let text = UnsafeRawBufferPointer(rebasing: bytes[range])
        guard text.allSatisfy({ (0x20..<0x7F).contains($0) }) else { throw fault("plain ASCII expected") }
        return text.split(separator: 0x20, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    }

    /// As JavaScript counts: at most 16 digits.
    private static func number(_ text: String) -> UInt64? {
        guard (1...16).contains(text.utf8.count), text.utf8.allSatisfy(\.isDigit) else { return nil }
        return UInt64(text)
    }

    /// In milliseconds, as JavaScript writes a number.
    private static func timeout(_ text: String) -> Double? {
        guard text.utf8.first?.isDigit == true, text.utf8.allSatisfy(\.isOfNumber), let value = Double(text),
            value.isFinite
        else { return nil }
        return value
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    fileprivate var isHexDigit: Bool { isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self) }

    fileprivate var isOfNumber: Bool {
        isDigit || self == UInt8(ascii: ".") || self == UInt8(ascii: "e") || self == UInt8(ascii: "+")
            || self == UInt8(ascii: "-")
    }
}

/// One record of a text that relay.js posts. Ranges are places in the text, in bytes; a JSON string's with its quotes.
enum RelayRecord: Hashable {
    /// What a call from the program came to in the page.
    enum AnswerKind: String { case returned, threw, invalidReply, full }

    /// The first of a document.
    case hello
    /// A message. `units` is the length of all of its JSON in UTF-16 code units: more than `json` has when it was cut.
    case call(number: UInt64, timeout: Double, units: Int, handler: Range<Int>, json: Range<Int>)
    /// JSON when it is `returned`, perhaps none; else a JSON string.
    case answer(number: UInt64, AnswerKind, text: Range<Int>)
    /// A JSON string.
    case warn(Range<Int>)
    /// A script error; a JSON string.
    case error(Range<Int>)
    /// So many calls were rejected in the page, as too many waited.
    case full(Int)
    /// So many lines were too many, so many of them script errors.
    case withheld(lines: Int, errors: Int)
}

/// What relay.js never posts.
struct RelayTextError: Error, Hashable, CustomStringConvertible {
    /// Counted from 1.
    let line: Int
    let detail: String

    var description: String { "line \(line): \(detail)" }
}

/// The origin that a text from the private world claims, beside that of the frame which posted it, as the engine knows it.
struct ClaimedOrigin {
    /// The most bytes of a text's first line that are looked at; a token and the longest origin have fewer.
    private static let longestLine = URLText.maximumLength + 64

    private let origin: WebOrigin?

    /// - Parameter text: its first line is a token, a space, and the origin.
    init(in text: String) {
        let line = text.utf8.prefix(ClaimedOrigin.longestLine).prefix { $0 != UInt8(ascii: "\n") }
        guard let space = line.firstIndex(of: UInt8(ascii: " ")) else {
            origin = nil
            return
        }
        origin = try? WebOrigin(String(Substring(line[line.index(after: space)...])))
    }

    /// Whether it is the frame's. An opaque origin is nobody's.
    ///
    /// - Parameters:
    ///   - scheme: empty where the frame's origin is opaque.
    ///   - host: an IPv6 address with brackets or without.
    ///   - port: 0 for the scheme's own.
    func isThat(ofScheme scheme: String, host: String, port: Int) -> Bool {
        let needsBrackets = host.utf8.contains(UInt8(ascii: ":")) && host.utf8.first != UInt8(ascii: "[")
        let place = (needsBrackets ? "[\(host)]" : host) + (port == 0 ? "" : ":\(port)")
        guard let origin, let frame = try? WebOrigin("\(scheme)://\(place)") else { return false }
        return origin == frame
    }
}

extension UnsafeRawBufferPointer {
    /// How many UTF-16 code units this text has, which is UTF-8: as JavaScript counts it.
    var utf16Length: Int {
        reduce(into: 0) { count, byte in
            // A character's first byte; one of four bytes has two units.
            if byte & 0xC0 != 0x80 { count += byte >= 0xF0 ? 2 : 1 }
        }
    }
}

/// Writes what the program evaluates in the private world: one call of relay.js with pieces for the page, as a JSON array
/// within a string literal. Whatever a piece holds, it ends neither.
struct RelayScript {
    private var pieces: [UInt8] = []

    /// How many pieces were added.
    private(set) var count = 0
    /// The bytes of the pieces.
    var byteCount: Int { pieces.count }

    /// What became of a message: its reply, as JSON.
    mutating func add(reply: Bytes?, to number: UInt64) {
        begin("reply", number)
        if let reply { reply.withUnsafeBytes { add($0) } } else { add(plain: "null") }
        end()
    }

    /// What became of a message: it was not handled.
    mutating func add(_ refusal: OutcomeRefusal, of number: UInt64) {
        begin("refuse", number)
        add(refusal.code)
        add(refusal.message, after: ",")
        if let path = refusal.path { add(path, after: ",") } else { add(plain: ",null") }
        add(refusal.outcome, after: ",")
        end()
    }

    /// A message from the program.
    mutating func add(_ message: PageMessage) {
        begin("receive")
        add(message.action.text, after: ",")
        if let id = message.id { add(id.text, after: ",") } else { add(plain: ",null") }
        add(plain: ",")
        message.body.withUnsafeBytes { add($0) }
        add(plain: ",\(message.number)")
        end()
    }

    /// The page's calls settle with `closed`, also those it makes later.
    mutating func addClose(_ message: String) {
        begin("close")
        add(message, after: ",")
        end()
    }

    /// The script.
    ///
    /// - Parameters:
    ///   - token: the document that it is for; another ignores it.
    ///   - grant: what that document may send in all.
    ///   - answers: how many calls of the program it has been given in all.
    func text(to token: String, grant: FlowCredit.Amount, answers: Int) -> String {
        var text = Array("signalboxRelay('\(token)',\(grant.messages),\(grant.units),\(answers),'[".utf8)
        text += pieces
        text += Array("]')".utf8)
        return String(decoding: text, as: UTF8.self)
    }

    // MARK: - Pieces

    private mutating func begin(_ word: String, _ number: UInt64) {
        begin(word)
        add(plain: ",\(number),")
    }

    private mutating func begin(_ word: String) {
        add(plain: count == 0 ? "[\"\(word)\"" : ",[\"\(word)\"")
        count += 1
    }

    private mutating func end() {
        add(plain: "]")
    }

    /// JSON that is a part of the array: without backslash, apostrophe and control characters.
    private mutating func add(plain text: String) {
        pieces.append(contentsOf: text.utf8)
    }

    private mutating func add(_ text: String, after separator: String = "") {
        add(plain: separator)
        var text = text
        text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
    }

    /// A JSON string of the text: its escapes are escaped once more, for the literal.
    private mutating func add(_ text: UnsafeRawBufferPointer) {
        pieces.append(UInt8(ascii: "\""))
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""): add(plain: #"\\""#)
            case UInt8(ascii: "\\"): add(plain: #"\\\\"#)
            case UInt8(ascii: "'"): add(plain: #"\'"#)
            case 0..<0x20: add(plain: byte < 0x10 ? #"\\u000"# + hex(byte) : #"\\u00"# + hex(byte))
            default: pieces.append(byte)
            }
        }
        pieces.append(UInt8(ascii: "\""))
    }

    private func hex(_ byte: UInt8) -> String { String(byte, radix: 16) }
}
