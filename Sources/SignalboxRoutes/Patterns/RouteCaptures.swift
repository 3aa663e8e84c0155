/// What a pattern named in a URL or topic, from left to right. Each name occurs once.
public struct RouteCaptures: Sendable, Hashable, RandomAccessCollection {
    private let captures: [RouteCapture]

    /// Nothing named, as by a pattern without captures.
    public init() {
        captures = []
    }

    package init(_ captures: [RouteCapture]) {
        self.captures = captures
    }

    /// Always 0.
    public var startIndex: Int { 0 }
    /// How many there are: at most ``URLPattern/maximumCaptures``.
    public var endIndex: Int { captures.count }

    /// The capture at a place; a place that is none is a programming error, as with an array.
    public subscript(position: Int) -> RouteCapture { captures[position] }

    /// The text of the capture with that name, or `nil` when there is none.
    public subscript(name: String) -> String? {
        captures.first { $0.name == name }?.value
    }

    /// The capture's text as a number, or `nil` when there is no such capture or the text is not
    /// `-?(0|[1-9][0-9]*)` within the range of `Int`. Nothing is trimmed; `-0` is 0.
    ///
    /// The capture need not be of kind ``CaptureKind/int``; one of that kind always has a value on 64-bit platforms.
    public func int(_ name: String) -> Int? {
        self[name].flatMap { ScalarText.int64($0.utf8) }.flatMap { Int(exactly: $0) }
    }

    /// The capture's text as a truth value, or `nil` when there is no such capture or the text is neither `true` nor
    /// `false`. Nothing is trimmed, and letter case counts.
    public func bool(_ name: String) -> Bool? {
        self[name].flatMap { ScalarText.bool($0.utf8) }
    }
}

/// A named piece of a URL or topic, found by a ``URLPattern`` or ``TopicPattern``.
public struct RouteCapture: Sendable {
    /// The name in the pattern's braces.
    public let name: String
    /// The text it stood for; of a URL decoded exactly once.
    ///
    /// It comes from whoever opened the URL or published the message. A text of a URL may hold a `/` that was escaped as
    /// `%2F`, and so `../` and a leading `//`, except in a rest, where each `/` is one of the URL's own: it is no name of a
    /// file. A topic's level may be empty.
    public let value: String
    /// What the pattern asked for: the value has that form.
    public let kind: CaptureKind

    package init(name: String, value: String, kind: CaptureKind = .text) {
        self.name = name
        self.value = value
        self.kind = kind
    }
}

extension RouteCapture: Hashable {
    /// Equal when name and kind are, and the bytes of the value.
    public static func == (left: RouteCapture, right: RouteCapture) -> Bool {
        left.name == right.name && left.kind == right.kind && ByteText(left.value) == ByteText(right.value)
    }

    /// Hashes name, kind and bytes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(kind)
        hasher.combine(ByteText(value))
    }
}

/// What a capture takes, and what its text may be.
public struct CaptureKind: Sendable, Hashable, CustomStringConvertible {
    private enum Code: String {
        case text, int, uuid, rest
    }
    private let code: Code

    /// `{name}`: any text; of a URL at least one byte.
    public static let text = CaptureKind(code: .text)
    /// `{name:int}`: `-?(0|[1-9][0-9]*)` that 64 bits with a sign hold; `-0` is 0.
    public static let int = CaptureKind(code: .int)
    /// `{name:uuid}`: RFC 9562, section 4: hexadecimal digits in groups of 8, 4, 4, 4 and 12, letter case free. Version
    /// and variant are not looked at.
    public static let uuid = CaptureKind(code: .uuid)
    /// `{name...}`: all that remains, possibly nothing.
    public static let rest = CaptureKind(code: .rest)

    /// The kind that a name behind a colon stands for; `text` and `rest` have no such name.
    init?(name: some Sequence<UInt8>) {
        if name.elementsEqual("int".utf8) {
            self = .int
        } else if name.elementsEqual("uuid".utf8) {
            self = .uuid
        } else {
            return nil
        }
    }

    private init(code: Code) {
        self.code = code
    }

    /// The word used in logs and JSON, such as `uuid`.
    public var description: String { code.rawValue }

    /// Whether the text has the form of the kind. It is read once at most, and no further than such a form can reach.
    func accepts(_ text: some Collection<UInt8>) -> Bool {
        switch code {
        case .text, .rest: true
        case .int: ScalarText.int64(text) != nil
        case .uuid: CaptureKind.isUUID(text)
        }
    }

    private static func isUUID(_ text: some Collection<UInt8>) -> Bool {
        var count = 0
        for byte in text {
            switch count {
            case 8, 13, 18, 23: guard byte == UInt8(ascii: "-") else { return false }
            case 36...: return false
            default: guard byte.hexValue != nil else { return false }
            }
            count += 1
        }
        return count == 36
    }
}

/// What the braces of a capture say: the same in URLs and topics.
struct CaptureSyntax {
    enum Fault: Error {
        case notAlone, invalidName, unknownKind
    }

    let name: String
    let kind: CaptureKind

    private static let open = UInt8(ascii: "{")
    private static let close = UInt8(ascii: "}")
    private static let dots = "...".utf8

    static func isBrace(_ byte: UInt8) -> Bool { byte == open || byte == close }

    /// Reads `{name}`, `{name:kind}` or `{name...}`.
    ///
    /// - Parameter text: a whole segment, level or value, with at least one brace in it.
    init<Text: BidirectionalCollection<UInt8>>(_ text: Text) throws(Fault) {
        guard text.first == Self.open, text.last == Self.close else { throw .notAlone }
        let inner = text.dropFirst().dropLast()
        if inner.contains(where: Self.isBrace) { throw .notAlone }
        var name = inner[...]
        if inner.suffix(Self.dots.count).elementsEqual(Self.dots) {
            name = inner.dropLast(Self.dots.count)
            kind = .rest
        } else if let colon = inner.firstIndex(of: UInt8(ascii: ":")) {
            name = inner[..<colon]
            guard let found = CaptureKind(name: inner[inner.index(after: colon)...]) else {
                throw Self.isName(name) ? .unknownKind : .invalidName
            }
            kind = found
        } else {
            kind = .text
        }
        guard Self.isName(name) else { throw .invalidName }
        self.name = String(decoding: Array(name), as: UTF8.self)
    }

    private static func isName(_ text: some Collection<UInt8>) -> Bool {
        guard let first = text.first, first.isASCIILetter else { return false }
        return text.count <= URLPattern.maximumNameLength
            && text.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "_") }
    }
}

/// The one rule by which text of a URL or topic is read as a number or a truth value.
///
/// Nothing is trimmed and there is no other form. The body reader follows the same rule where a capture is decoded.
package enum ScalarText {
    /// The most bytes of a number that 64 bits with a sign hold.
    private static let mostBytes = 20

    /// The value of `-?(0|[1-9][0-9]*)`, or `nil` for any other text and for a value beyond 64 bits with a sign; `-0` is
    /// 0. No more than 21 bytes are read.
    package static func int64(_ text: some Collection<UInt8>) -> Int64? {
        var digits = text.prefix(mostBytes + 1)
        guard digits.count <= mostBytes else { return nil }
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits = digits.dropFirst() }
        guard let first = digits.first, first != UInt8(ascii: "0") || digits.count == 1 else { return nil }
        var value: Int64 = 0
        for byte in digits {
            guard byte.isASCIIDigit else { return nil }
            let digit = Int64(byte - UInt8(ascii: "0"))
            let (product, isOver) = value.multipliedReportingOverflow(by: 10)
            // Towards the sign from the first digit on: the smallest number has no counterpart above 0.
            let (sum, isOverToo) = product.addingReportingOverflow(isNegative ? -digit : digit)
            guard !isOver, !isOverToo else { return nil }
            value = sum
        }
        return value
    }

    /// The value of `true` or `false`, or `nil` for any other text.
    package static func bool(_ text: some Sequence<UInt8>) -> Bool? {
        if text.elementsEqual("true".utf8) { return true }
        if text.elementsEqual("false".utf8) { return false }
        return nil
    }
}
