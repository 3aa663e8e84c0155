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
