import Foundation
import SignalboxCore

/// A document with one intended difference removed. Both readers must agree on the rest, or differ by another one.
struct DocumentRepair {
    let difference: IntendedDifference
    let document: [UInt8]

    private init(_ difference: IntendedDifference, _ document: [UInt8]) {
        self.difference = difference
        self.document = document
    }

    /// Returns the repair of a document that only Foundation reads.
    static func refused(_ document: [UInt8], because error: BodyError) -> DocumentRepair? {
        guard let offset = error.offset, document.indices.contains(offset) else { return encoding(document) }
        switch error.code {
        case .duplicateKey: return repeatedName(document, at: offset)
        case .invalidSyntax where offset == 0 && document.starts(with: [0xEF, 0xBB, 0xBF]):
            return DocumentRepair(.byteOrderMark, Array(document.dropFirst(3)))
        case .invalidSyntax: return trailingComma(document, before: offset) ?? encoding(document)
        case .notAnInteger: return fraction(document, at: offset)
        case .inexactNumber: return inexact(document, at: offset)
        default: return encoding(document)
        }
    }

    /// Returns the repair of a document that both read with different values of a number.
    static func differing(_ document: [UInt8]) -> DocumentRepair? {
        let text = DocumentText(bytes: document)
        if let number = text.number(where: isInexact) { return inexact(document, at: number.lowerBound) }
        return text.number(where: isMissedByFoundation).map {
            DocumentRepair(.longNumber, text.replacing($0, with: "0"))
        }
    }

    private static func isInexact(_ literal: String) -> Bool {
        guard !literal.contains(where: { ".eE".contains($0) }) else { return false }
        guard case .number(nil, _)? = try? JSONForm.signalbox(Array(literal.utf8)) else { return false }
        return true
    }

    /// Returns whether Foundation's `Double` is not the nearest one, on which the standard library and Signalbox agree.
    private static func isMissedByFoundation(_ literal: String) -> Bool {
        guard case .number(let theirs?, let integer) = JSONForm.foundation(Array(literal.utf8)),
            case .number(let ours?, integer) = try? JSONForm.signalbox(Array(literal.utf8))
        else { return false }
        return ours == Double(literal) && theirs != ours && abs(theirs - ours) <= abs(ours) * 1e-12
    }

    /// Returns the repair of a document that only Signalbox reads.
    static func accepted(_ document: [UInt8]) -> DocumentRepair? {
        let text = DocumentText(bytes: document)
        if let huge = text.number(where: { Double($0)?.isFinite == false }) {
            return DocumentRepair(.hugeNumber, text.replacing(huge, with: "0"))
        }
        return text.number(where: isTiny).map { DocumentRepair(.tinyNumber, text.replacing($0, with: "0")) }
    }

    private static func isTiny(_ literal: String) -> Bool {
        Float(literal) == 0 && literal.contains { "123456789eE".contains($0) }
    }

    /// Returns the repair of a document that `JSONDecoder` reads because it skips a value.
    static func unrequested(_ document: [UInt8], because error: BodyError) -> DocumentRepair? {
        let text = DocumentText(bytes: document)
        guard let offset = error.offset, let token = text.token(at: offset), text.text(of: token) != "" else {
            return nil
        }
        return DocumentRepair(.unrequestedValue, text.replacing(token, with: "null"))
    }

    /// Gives the later of two equal names another, unique name.
    private static func repeatedName(_ document: [UInt8], at offset: Int) -> DocumentRepair? {
        let text = DocumentText(bytes: document)
        guard let name = text.token(at: offset), name.lowerBound == offset else { return nil }
        let isSame = text.tokens.contains { $0.upperBound <= offset && document[$0] == document[name] }
        let renamed = text.replacing(offset..<offset + 1, with: "\"renamed at \(offset) ")
        return DocumentRepair(isSame ? .repeatedName : .equalNames, renamed)
    }

    private static func trailingComma(_ document: [UInt8], before offset: Int) -> DocumentRepair? {
        guard Array("]}".utf8).contains(document[offset]) else { return nil }
        let space: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]
        guard let last = document[..<offset].lastIndex(where: { !space.contains($0) }),
            document[last] == UInt8(ascii: ",")
        else { return nil }
        return DocumentRepair(.trailingComma, DocumentText(bytes: document).replacing(last..<last + 1, with: ""))
    }

    private static func fraction(_ document: [UInt8], at offset: Int) -> DocumentRepair? {
        let text = DocumentText(bytes: document)
        guard let number = text.token(at: offset), let value = Double(text.text(of: number)) else { return nil }
        guard let integer = Int64(exactly: value) else { return nil }
        return DocumentRepair(.fractionAsInteger, text.replacing(number, with: "\(integer)"))
    }

    private static func inexact(_ document: [UInt8], at offset: Int) -> DocumentRepair? {
        let text = DocumentText(bytes: document)
        guard let number = text.token(at: offset) else { return nil }
        return DocumentRepair(.inexactInteger, text.replacing(number, with: text.text(of: number) + ".0"))
    }

    private static func encoding(_ document: [UInt8]) -> DocumentRepair? {
        guard let encoding = detected(document) else { return nil }
        // Half a character at the end is ignored.
        let whole = document.count <= 3 ? document.prefix(2) : document[...]
        guard let text = String(bytes: whole, encoding: encoding) else { return nil }
        return DocumentRepair(.otherEncoding, Array(text.utf8))
    }

    /// Detects the encoding by the byte order mark, else by the zeros in the first characters (RFC 4627 section 3).
    private static func detected(_ document: [UInt8]) -> String.Encoding? {
        let zeros = document.prefix(4).map { $0 == 0 }
        switch zeros {
        case [true, true, true, false]: return .utf32BigEndian
        case [false, true, true, true]: return .utf32LittleEndian
        case _ where document.starts(with: [0xFF, 0xFE]) || document.starts(with: [0xFE, 0xFF]): return .utf16
        case [true, false, true, false], [true, false], [true, false, false]: return .utf16BigEndian
        case [false, true, false, true], [false, true], [false, true, false]: return .utf16LittleEndian
        default: return nil
        }
    }
}

/// The positions in a document that a repair requires, found without either reader.
struct DocumentText {
    let bytes: [UInt8]

    /// The strings with their quotes, and the runs of number characters, in order.
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

    /// Returns the token at a position. The token's end counts too, because something may be missing there.
    func token(at position: Int) -> Range<Int>? {
        tokens.first { $0.lowerBound <= position && position <= $0.upperBound }
    }

    /// Returns the first number that satisfies the rule.
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
