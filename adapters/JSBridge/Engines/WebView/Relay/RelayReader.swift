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
