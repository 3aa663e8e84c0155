import SignalboxCore
import SignalboxRoutes

/// One line of input, or one argument, that should be a URL.
struct InputLine: Sendable, Hashable {
    /// The line without its end; of a line that is too long, its beginning.
    let bytes: [UInt8]
    /// Whether the line had more bytes than were kept.
    let isCut: Bool

    /// - Parameters:
    ///   - bytes: the line without its end.
    ///   - isCut: whether there was more of it.
    init(_ bytes: [UInt8], isCut: Bool = false) {
        self.bytes = bytes
        self.isCut = isCut
    }

    /// The line as text.
    ///
    /// - Throws: `tooLong` for a line that was cut, `notUTF8` with the first byte that is not.
    func text() throws(URLTextError) -> String {
        guard !isCut else {
            throw URLTextError(.tooLong, at: bytes.count, "at most \(bytes.count) bytes expected")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw URLTextError(.notUTF8, at: InputLine.firstInvalidByte(of: bytes), "the line is not UTF-8")
        }
        return text
    }

    /// The line as a command repeats it; a character that was cut in two is left out.
    var content: Bytes {
        guard isCut else { return Bytes(bytes) }
        let whole = InputLine.firstInvalidByte(of: bytes)
        return Bytes(bytes.count - whole < 4 ? Array(bytes[..<whole]) : bytes)
    }

    /// The line for a person; what is not UTF-8 by its number of bytes.
    var shown: String {
        let content = content
        return content.text.map { isCut ? "\($0)…" : $0 } ?? "(\(content.count) bytes)"
    }

    private static func firstInvalidByte(of bytes: [UInt8]) -> Int {
        var parser = UTF8.ForwardParser()
        var rest = bytes.makeIterator()
        var offset = 0
        while case .valid(let scalar) = parser.parseScalar(from: &rest) { offset += scalar.count }
        return offset
    }
}
