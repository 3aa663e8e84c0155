/// The places in a document that a repair needs, found without either reader.
struct DocumentText {
    let bytes: [UInt8]

    /// The strings with their quotes, and the runs of characters that numbers consist of, in order.
    var tokens: [Range<Int>] {
        var tokens: [Range<Int>] = []
        var index = 0
        while index < bytes.count {
            let start = index
            if bytes[index] == UInt8(ascii: "\"") {
                index = stringEnd(index)
            } else {
                while index < bytes.count, DocumentText.isOfNumber(bytes[index]) { index += 1 }
            }
            if index > start { tokens.append(start..<index) } else { index += 1 }
        }
        return tokens
    }

    /// The token that a position lies in, its end included: a fault may be that something is missing there.
    func token(at position: Int) -> Range<Int>? {
        tokens.first { $0.lowerBound <= position && position <= $0.upperBound }
    }

    /// The first number that a rule holds for.
    func number(where rule: (String) -> Bool) -> Range<Int>? {
        tokens.first { bytes[$0.lowerBound] != UInt8(ascii: "\"") && rule(text(of: $0)) }
    }

    func text(of range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    func replacing(_ range: Range<Int>, with text: String) -> [UInt8] {
        Array(bytes[..<range.lowerBound]) + Array(text.utf8) + Array(bytes[range.upperBound...])
    }

    private func stringEnd(_ start: Int) -> Int {
        var index = start + 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(index + 1, bytes.count)
    }

    private static func isOfNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "e"), UInt8(ascii: "E"):
            true
        default: false
        }
    }
}
