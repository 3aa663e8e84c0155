/// Reads one URL from left to right and writes its normal form.
struct URLReader {
    let input: [UInt8]
    var position = 0
    var output: [UInt8] = []
    var places = URLPlaces()
    var isSpecial = false
    var hasOpaquePath = false
    var port: UInt16?
    var scheme: URLScheme = .other

    init(_ text: String) {
        input = Array(text.utf8)
    }

    mutating func read() throws(URLTextError) {
        try URLReader.checkCharacters(input)
        output.reserveCapacity(input.count + 16)
        try readScheme()
        try readAuthority()
        try readPath()
        readQuery()
        readFragment()
        guard output.count <= URLText.maximumLength else { throw URLReader.tooLong(input.count) }
    }

    /// The byte at a place, or 0 behind the end: no URL holds that byte.
    func byte(_ place: Int) -> UInt8 { place < input.count ? input[place] : 0 }

    func has(_ text: StaticString, at place: Int) -> Bool {
        guard input.count - place >= text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { wanted in
            (0..<wanted.count).allSatisfy { input[place + $0] == wanted[$0] }
        }
    }

    /// - Parameter length: of the text as it was given, which escapes may have made longer.
    private static func tooLong(_ length: Int) -> URLTextError {
        let most = URLText.maximumLength
        return URLTextError(.tooLong, at: min(most, length), "at most \(most) bytes expected, escapes included")
    }

    /// What an engine would drop without a word, so that what is read is not what stands there.
    static func checkCharacters(_ input: [UInt8]) throws(URLTextError) {
        guard input.count <= URLText.maximumLength else {
            throw tooLong(input.count)
        }
        for (offset, byte) in input.enumerated() where byte < 0x20 || byte == 0x7F {
            throw URLTextError(.controlCharacter, at: offset, "the byte \(byte) must be escaped")
        }
        let space = UInt8(ascii: " ")
        if input.first == space { throw URLTextError(.surroundingSpace, at: 0, "a space before the URL") }
        if input.last == space {
            throw URLTextError(.surroundingSpace, at: input.count - 1, "a space behind the URL")
        }
    }

    private mutating func readScheme() throws(URLTextError) {
        if input.isEmpty { throw URLTextError(.empty, at: 0, "a URL expected") }
        guard let end = URLReader.schemeEnd(of: input) else {
            throw URLTextError(.missingScheme, at: 0, "a scheme and a colon expected, such as https:")
        }
        for place in 0..<end { output.append(input[place].asciiLowercase) }
        scheme = URLScheme(output[...])
        isSpecial = scheme != .other
        places.schemeEnd = end
        output.append(UInt8(ascii: ":"))
        position = end + 1
    }

    /// Where the colon behind the scheme is, or `nil` when the text begins with none.
    static func schemeEnd(of input: [UInt8]) -> Int? {
        guard let first = input.first, first.isASCIILetter else { return nil }
        guard let end = input.firstIndex(where: { !ByteSet.scheme.contains($0) }) else { return nil }
        return input[end] == UInt8(ascii: ":") ? end : nil
    }

    private mutating func readQuery() {
        guard byte(position) == UInt8(ascii: "?") else { return }
        output.append(UInt8(ascii: "?"))
        let end = input[position...].firstIndex(of: UInt8(ascii: "#")) ?? input.count
        let start = output.count
        write(position + 1..<end, escaping: isSpecial ? .escapedInSpecialQuery : .escapedInQuery)
        places.query = start..<output.count
        position = end
    }

    private mutating func readFragment() {
        guard byte(position) == UInt8(ascii: "#") else { return }
        output.append(UInt8(ascii: "#"))
        let start = output.count
        write(position + 1..<input.count, escaping: .escapedInFragment)
        places.fragment = start..<output.count
        position = input.count
    }

    /// Copies bytes; those of the set, and those beyond ASCII, are escaped.
    mutating func write(_ range: Range<Int>, escaping set: ByteSet) {
        var start = range.lowerBound
        for place in range {
            let byte = input[place]
            guard byte >= 0x80 || set.contains(byte) else { continue }
            output.append(contentsOf: input[start..<place])
            writeEscaped(byte)
            start = place + 1
        }
        output.append(contentsOf: input[start..<range.upperBound])
    }

    mutating func writeEscaped(_ byte: UInt8) {
        output.append(UInt8(ascii: "%"))
        output.append(UInt8.upperHexDigits[Int(byte >> 4)])
        output.append(UInt8.upperHexDigits[Int(byte & 15)])
    }
}
