/// The parts of a URL or topic that a pattern captured, from left to right.
///
/// Names are unique, so you can look up a capture by its name:
///
/// ```swift
/// let captures = pattern.match(url)
/// let id = captures?.int("id")
/// ```
public struct RouteCaptures: Sendable, Hashable, RandomAccessCollection {
    private let captures: [RouteCapture]

    /// Creates an empty collection, which is also the result of matching a pattern without captures.
    public init() {
        captures = []
    }

    package init(_ captures: [RouteCapture]) {
        self.captures = captures
    }

    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of captures, at most ``URLPattern/maximumCaptures``.
    public var endIndex: Int { captures.count }

    /// The capture at `position`. As with an array, an invalid position is a programming error.
    public subscript(position: Int) -> RouteCapture { captures[position] }

    /// The text of the capture with this name, or `nil` if there is no such capture.
    public subscript(name: String) -> String? {
        captures.first { $0.name == name }?.value
    }

    /// Returns a capture's text as a number.
    ///
    /// The text, which is not trimmed, must match `-?(0|[1-9][0-9]*)`, where `-0` is 0. The capture may be of any kind.
    /// On 64-bit platforms, this method always returns a value for a capture of kind ``CaptureKind/int``.
    ///
    /// - Returns: `nil` if there is no such capture, if the text does not match, or if the number does not fit in an
    ///   `Int`.
    public func int(_ name: String) -> Int? {
        self[name].flatMap { ScalarText.int64($0.utf8) }.flatMap { Int(exactly: $0) }
    }

    /// Returns a capture's text as a boolean.
    ///
    /// The text, which is not trimmed, must be `true` or `false` in lower case.
    ///
    /// - Returns: `nil` if there is no such capture, or if its text is anything else.
    public func bool(_ name: String) -> Bool? {
        self[name].flatMap { ScalarText.bool($0.utf8) }
    }
}

/// A named part of a URL or topic, captured by a ``URLPattern`` or ``TopicPattern``.
public struct RouteCapture: Sendable, Hashable {
    /// The name given in braces in the pattern.
    public let name: String
    /// The matched text. Text from a URL is decoded exactly once.
    ///
    /// The text is untrusted, because anyone who opens a URL or publishes a message can control it. Do not use the text
    /// as a file name.
    ///
    /// - Text from a URL may contain a `/` that was escaped as `%2F`, so it may also contain `../` or begin with `//`.
    /// - In a capture of kind `rest`, every `/` was unescaped in the URL.
    /// - A captured topic level may be empty.
    public var value: String { bytes.text }
    /// The kind that the pattern requires. The value always has the form of this kind.
    public let kind: CaptureKind
    private let bytes: ByteText

    package init(name: String, value: String, kind: CaptureKind = .text) {
        self.name = name
        bytes = ByteText(value)
        self.kind = kind
    }
}

/// Specifies how much text a capture matches, and what form the text must have.
public struct CaptureKind: Sendable, Hashable, CustomStringConvertible {
    private enum Code: String {
        case text, int, uuid, rest
    }
    private let code: Code

    /// `{name}`: any text. In a URL, the text has at least one byte.
    public static let text = CaptureKind(code: .text)
    /// `{name:int}`: a number of the form `-?(0|[1-9][0-9]*)` that fits in a signed 64-bit integer. `-0` is 0.
    public static let int = CaptureKind(code: .int)
    /// `{name:uuid}`: hexadecimal digits in groups of 8, 4, 4, 4 and 12, in either case (RFC 9562, section 4). The
    /// version and the variant are not checked.
    public static let uuid = CaptureKind(code: .uuid)
    /// `{name...}`: all remaining text, which may be empty.
    public static let rest = CaptureKind(code: .rest)

    /// Creates the kind with this name, or returns `nil` if there is no such kind. The kinds `text` and `rest` have no
    /// name in a pattern.
    init?(name: some Sequence<UInt8>) {
        guard let kind = [CaptureKind.int, .uuid].first(where: { name.elementsEqual($0.description.utf8) }) else {
            return nil
        }
        self = kind
    }

    private init(code: Code) {
        self.code = code
    }

    /// The kind's name in logs and JSON, such as `uuid`.
    public var description: String { code.rawValue }

    /// Returns whether the text has the form of this kind, reading no more of the text than the maximum length of that
    /// form.
    package func accepts(_ text: some Collection<UInt8>) -> Bool {
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

/// The content of a capture's braces, whose syntax is the same for URLs and topics.
struct CaptureSyntax {
    enum SyntaxError: Error {
        case notAlone, invalidName, unknownKind
    }

    let name: String
    let kind: CaptureKind

    private static let open = UInt8(ascii: "{")
    private static let close = UInt8(ascii: "}")
    private static let dots = "...".utf8

    static func isBrace(_ byte: UInt8) -> Bool { byte == open || byte == close }

    /// Parses `{name}`, `{name:kind}` or `{name...}`.
    ///
    /// - Parameter text: A whole segment, level or value that contains at least one brace.
    init<Text: BidirectionalCollection<UInt8>>(_ text: Text) throws(SyntaxError) {
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

/// Converts text from a URL or topic to a number or a boolean.
///
/// The text is not trimmed, and no other forms are accepted. The same rules apply when a capture is decoded from a
/// body.
package enum ScalarText {
    /// The maximum length in bytes of a signed 64-bit integer as text.
    private static let maximumBytes = 20

    /// Returns the value of text of the form `-?(0|[1-9][0-9]*)`, where `-0` is 0. This method reads at most 21 bytes.
    ///
    /// - Returns: `nil` for any other text, and for a value that does not fit in a signed 64-bit integer.
    package static func int64(_ text: some Collection<UInt8>) -> Int64? {
        var digits = text.prefix(maximumBytes + 1)
        guard digits.count <= maximumBytes else { return nil }
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits = digits.dropFirst() }
        guard let first = digits.first, first != UInt8(ascii: "0") || digits.count == 1 else { return nil }
        var value: Int64 = 0
        for byte in digits {
            guard byte.isASCIIDigit else { return nil }
            let digit = Int64(byte - UInt8(ascii: "0"))
            let (product, isOver) = value.multipliedReportingOverflow(by: 10)
            // The sum has the number's sign from the start, because the smallest integer has no positive counterpart.
            let (sum, isOverToo) = product.addingReportingOverflow(isNegative ? -digit : digit)
            guard !isOver, !isOverToo else { return nil }
            value = sum
        }
        return value
    }

    /// Returns the boolean spelled by `true` or `false`, or `nil` for any other text.
    package static func bool(_ text: some Sequence<UInt8>) -> Bool? {
        if text.elementsEqual("true".utf8) { return true }
        if text.elementsEqual("false".utf8) { return false }
        return nil
    }
}
