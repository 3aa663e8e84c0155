import AdapterSupport
import SignalboxCore
import SignalboxRoutes

/// Parses the texts that relay.js posts. A text consists of a line with the document's token and origin, followed by
/// records of three lines each.
///
/// The process that sent the text may be controlled by an attacker. The reader inspects each byte once and stores
/// nothing.
struct RelayReader {
    private let bytes: UnsafeRawBufferPointer
    /// The position of the next line. At the end of the text, it is greater than the byte count.
    private var next = 0
    private var line = 0

    /// The length of a token, in hexadecimal digits.
    static let tokenLength = 16
    /// The maximum length of an origin, in bytes. A host has at most 253 bytes, and schemes are short.
    static let longestOrigin = 512
    /// The maximum length of a record's first line, in bytes.
    static let longestHead = 128

    /// - Parameter bytes: The text, which must outlive the reader.
    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// Returns the first line. Call this method once, before ``record()``.
    mutating func header() throws(RelayTextError) -> (token: String, origin: String) {
        let fields = try fields(atMost: RelayReader.tokenLength + 1 + RelayReader.longestOrigin)
        guard fields.count == 2, fields[0].utf8.count == RelayReader.tokenLength,
            fields[0].utf8.allSatisfy(\.isHexDigit)
        else { throw invalid("expected a token and an origin") }
        return (fields[0], fields[1])
    }

    /// Returns the next record, or `nil` at the end.
    mutating func record() throws(RelayTextError) -> RelayRecord? {
        guard next <= bytes.count else { return nil }
        let fields = try fields(atMost: RelayReader.longestHead)
        let firstLine = line
        guard let second = nextLine(), let third = nextLine() else { throw invalid("expected a record of three lines") }
        guard let record = read(fields, second, third) else {
            throw RelayTextError(line: firstLine, detail: "not a known record")
        }
        return record
    }

    private func read(_ fields: [String], _ second: Range<Int>, _ third: Range<Int>) -> RelayRecord? {
        switch (fields[0], fields.count) {
        case ("call", 4):
            guard let number = RelayReader.number(fields[1]), let timeout = RelayReader.timeout(fields[2]),
                let units = RelayReader.number(fields[3]).map({ Int($0) })
            else { return nil }
            return .call(RelayCall(number: number, timeout: timeout, units: units, handler: second, json: third))
        case ("answer", 3):
            guard second.isEmpty, let number = RelayReader.number(fields[1]),
                let kind = PageAnswerKind(rawValue: fields[2])
            else { return nil }
            return .answer(number: number, kind, text: third)
        case ("warn", 1): return second.isEmpty ? .warn(third) : nil
        case ("error", 1): return second.isEmpty ? .error(third) : nil
        default: return second.isEmpty && third.isEmpty ? readCounts(fields) : nil
        }
    }

    private func readCounts(_ fields: [String]) -> RelayRecord? {
        let counts = fields.dropFirst().compactMap { RelayReader.number($0).map { Int($0) } }
        guard counts.count == fields.count - 1 else { return nil }
        switch (fields[0], counts.count) {
        case ("hello", 0): return .hello
        case ("full", 1): return .full(counts[0])
        case ("withheld", 2): return .withheld(lines: counts[0], errors: counts[1])
        default: return nil
        }
    }

    // MARK: - Lines

    private func invalid(_ detail: String) -> RelayTextError {
        RelayTextError(line: line, detail: detail)
    }

    /// Returns the next line without its end, or `nil` at the end of the text.
    private mutating func nextLine() -> Range<Int>? {
        guard next <= bytes.count else { return nil }
        line += 1
        let start = next
        let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        next = end + 1
        return start..<end
    }

    /// Returns the ASCII fields of the next line. There is always at least one.
    private mutating func fields(atMost limit: Int) throws(RelayTextError) -> [String] {
        guard let range = nextLine(), range.count <= limit else { throw invalid("expected a short line") }
        let text = UnsafeRawBufferPointer(rebasing: bytes[range])
        guard text.allSatisfy({ (0x20..<0x7F).contains($0) }) else { throw invalid("expected plain ASCII") }
        return text.split(separator: 0x20, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Parses a JavaScript integer with at most 16 digits.
    private static func number(_ text: String) -> UInt64? {
        guard (1...16).contains(text.utf8.count), text.utf8.allSatisfy(\.isDigit) else { return nil }
        return UInt64(text)
    }

    /// Parses a JavaScript number of milliseconds.
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

/// A record in a text from relay.js. Ranges are byte positions in that text. The range of a JSON string includes its
/// quotes.
enum RelayRecord: Hashable {
    /// A document's first record.
    case hello
    /// A message.
    case call(RelayCall)
    /// The answer to a call. For `returned`, the text is JSON or empty. For any other kind, it is a JSON string.
    case answer(number: UInt64, PageAnswerKind, text: Range<Int>)
    /// A warning, as a JSON string.
    case warn(Range<Int>)
    /// A script error, as a JSON string.
    case error(Range<Int>)
    /// The number of calls that the page rejected because too many were waiting.
    case full(Int)
    /// The number of withheld lines, and how many of them were script errors.
    case withheld(lines: Int, errors: Int)
}

/// A message from the page.
struct RelayCall: Hashable {
    let number: UInt64
    /// The time within which the message must start, in milliseconds from the call, or 0 for no limit.
    let timeout: Double
    /// The length of the JSON before truncation, in UTF-16 code units.
    let units: Int
    let handler: Range<Int>
    let json: Range<Int>
}

/// An error thrown for a text that relay.js would never post.
struct RelayTextError: Error, Hashable, CustomStringConvertible {
    /// The line number, counted from 1.
    let line: Int
    let detail: String

    var description: String { "line \(line): \(detail)" }
}

/// The origin that a text from the private world claims. It is compared with the frame's origin as reported by the
/// engine.
struct ClaimedOrigin {
    /// The maximum number of bytes to search in the first line. It leaves room for a token and the longest origin.
    private static let longestLine = URLText.maximumLength + 64

    private let origin: WebOrigin?

    /// - Parameter text: A text whose first line consists of a token, a space, and the origin.
    init(in text: String) {
        let line = text.utf8.prefix(ClaimedOrigin.longestLine).prefix { $0 != UInt8(ascii: "\n") }
        guard let space = line.firstIndex(of: UInt8(ascii: " ")) else {
            origin = nil
            return
        }
        origin = try? WebOrigin(String(Substring(line[line.index(after: space)...])))
    }

    /// Returns whether this is the frame's origin. An opaque origin matches no other origin.
    ///
    /// - Parameters:
    ///   - scheme: The frame's scheme. It is empty if the frame's origin is opaque.
    ///   - host: The frame's host. An IPv6 address may be in brackets.
    ///   - port: The frame's port, or 0 for the scheme's default port.
    func matches(scheme: String, host: String, port: Int) -> Bool {
        let needsBrackets = host.utf8.contains(UInt8(ascii: ":")) && host.utf8.first != UInt8(ascii: "[")
        let authority = (needsBrackets ? "[\(host)]" : host) + (port == 0 ? "" : ":\(port)")
        guard let origin, let frame = try? WebOrigin("\(scheme)://\(authority)") else { return false }
        return origin == frame
    }
}

extension UnsafeRawBufferPointer {
    /// The length of this UTF-8 text in UTF-16 code units, which is how JavaScript measures it.
    var utf16Length: Int {
        reduce(into: 0) { count, byte in
            // Only a character's first byte adds to the length. A character of four bytes has two units.
            if byte & 0xC0 != 0x80 { count += byte >= 0xF0 ? 2 : 1 }
        }
    }
}

/// Builds the scripts that the program evaluates in the private world.
///
/// Each script is a single call to relay.js with pieces for the page. The pieces form a JSON array inside a string
/// literal. Nothing inside a piece can end the array or the literal.
struct RelayScript {
    private var json = JSONText()

    /// The number of pieces.
    private(set) var count = 0
    /// The total size of the pieces, in bytes.
    var byteCount: Int { json.bytes.count }

    /// Adds the JSON reply to a message.
    mutating func add(reply: Bytes?, to number: UInt64) {
        begin("reply")
        add(number)
        add(reply.map { String(decoding: $0, as: UTF8.self) })
        end()
    }

    /// Adds that a message is accepted.
    mutating func add(acceptanceOf number: UInt64) {
        begin("accepted")
        add(number)
        end()
    }

    /// Adds the refusal of a message, with its error.
    mutating func add(_ refusal: ErrorReply, of number: UInt64) {
        begin("refuse")
        add(number)
        for text in [refusal.code, refusal.message, refusal.path, refusal.outcome] { add(text) }
        end()
    }

    /// Adds a message from the program.
    mutating func add(_ message: PageMessage) {
        begin("receive")
        add(message.action.text)
        add(message.id?.text)
        add(String(decoding: message.body, as: UTF8.self))
        add(message.number)
        end()
    }

    /// Adds the end of the page. After it, all of the page's calls settle with `closed`, including later ones.
    mutating func addClose(_ message: String) {
        begin("close")
        add(message)
        end()
    }

    /// Returns the script.
    ///
    /// - Parameters:
    ///   - token: The token of the document that the script is meant for. Other documents ignore the script.
    ///   - grant: The document's total credit.
    ///   - answers: The total number of calls from the program that the document has received.
    func text(to token: String, grant: FlowCredit.Amount, answers: Int) -> String {
        var text = Array("signalboxRelay('\(token)',\(grant.messages),\(grant.units),\(answers),'[".utf8)
        text.reserveCapacity(text.count + byteCount * 5 / 4)
        for byte in json.bytes {
            // These JSON characters have a special meaning in the literal. JSONText already escapes line ends.
            if byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "'") { text.append(UInt8(ascii: "\\")) }
            text.append(byte)
        }
        text += Array("]')".utf8)
        return String(decoding: text, as: UTF8.self)
    }

    // MARK: - Pieces

    private mutating func begin(_ operation: String) {
        json.append(literal: count == 0 ? "[\"\(operation)\"" : ",[\"\(operation)\"")
        count += 1
    }

    private mutating func add(_ number: UInt64) {
        json.append(literal: ",\(number)")
    }

    private mutating func add(_ text: String?) {
        json.append(UInt8(ascii: ","))
        if let text { json.append(string: text) } else { json.append(literal: "null") }
    }

    private mutating func end() {
        json.append(UInt8(ascii: "]"))
    }
}
