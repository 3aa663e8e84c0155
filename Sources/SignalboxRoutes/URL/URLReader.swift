/// Parses one URL from left to right and writes its normal form.
struct URLReader {
    let input: [UInt8]
    var position = 0
    var output: [UInt8] = []
    var components = URLComponentRanges()
    var hasOpaquePath = false
    var hasUnreadablePath = false
    var port: UInt16?
    var scheme: URLScheme = .other
    var isSpecial: Bool { scheme != .other }

    private let paths: URLPathRules

    init(_ text: String, paths: URLPathRules = .strict) {
        input = Array(text.utf8)
        self.paths = paths
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

    /// Returns the byte at `index`, or 0 past the end. No URL contains a 0.
    func byte(_ index: Int) -> UInt8 { index < input.count ? input[index] : 0 }

    /// Returns the error for a URL that is too long.
    ///
    /// - Parameter length: The length of the text as given. The normal form may be longer, because it contains more
    ///   escapes.
    private static func tooLong(_ length: Int) -> URLTextError {
        let most = URLText.maximumLength
        return URLTextError(.tooLong, at: min(most, length), "expected at most \(most) bytes, escapes included")
    }

    /// Checks the length, and rejects control characters and surrounding spaces, because some engines silently drop
    /// them.
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
            throw URLTextError(.surroundingSpace, at: input.count - 1, "a space after the URL")
        }
    }

    private mutating func readScheme() throws(URLTextError) {
        if input.isEmpty { throw URLTextError(.empty, at: 0, "expected a URL") }
        guard let end = URLReader.schemeEnd(of: input) else {
            throw URLTextError(.missingScheme, at: 0, "expected a scheme and a colon, such as https:")
        }
        for index in 0..<end { output.append(input[index].asciiLowercase) }
        scheme = URLScheme(output[...])
        components.schemeEnd = end
        output.append(UInt8(ascii: ":"))
        position = end + 1
    }

    /// Returns the position of the colon after the scheme, or `nil` if the text does not begin with a scheme.
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
        components.query = start..<output.count
        position = end
    }

    private mutating func readFragment() {
        guard byte(position) == UInt8(ascii: "#") else { return }
        output.append(UInt8(ascii: "#"))
        let start = output.count
        write(position + 1..<input.count, escaping: .escapedInFragment)
        components.fragment = start..<output.count
        position = input.count
    }

    /// Copies bytes to the normal form, escaping all non-ASCII bytes and those in the set.
    mutating func write(_ range: Range<Int>, escaping set: ByteSet) {
        var start = range.lowerBound
        for index in range {
            let byte = input[index]
            guard byte >= 0x80 || set.contains(byte) else { continue }
            output.append(contentsOf: input[start..<index])
            writeEscaped(byte)
            start = index + 1
        }
        output.append(contentsOf: input[start..<range.upperBound])
    }

    mutating func writeEscaped(_ byte: UInt8) {
        output.append(UInt8(ascii: "%"))
        output.append(UInt8.upperHexDigits[Int(byte >> 4)])
        output.append(UInt8.upperHexDigits[Int(byte & 15)])
    }
}

extension URLReader {
    mutating func readAuthority() throws(URLTextError) {
        guard input[position...].starts(with: "//".utf8) else {
            guard !isSpecial else {
                throw URLTextError(.ambiguousURL, at: position, "expected two slashes after the scheme")
            }
            return
        }
        position += 2
        output.append(contentsOf: "//".utf8)
        let end = input[position...].firstIndex(where: ByteSet.authorityEnd.contains) ?? input.count
        try checkAuthority(position..<end)
        let authority = try readUserInfo(position..<end)
        let hostEnd = try hostEnd(in: authority)
        let start = output.count
        try writeHost(authority.lowerBound..<hostEnd)
        components.host = start..<output.count
        try readPort(hostEnd..<end)
        position = end
    }

    private func checkAuthority(_ authority: Range<Int>) throws(URLTextError) {
        if isSpecial, let index = input[authority].firstIndex(of: UInt8(ascii: "\\")) {
            throw URLTextError(.ambiguousURL, at: index, "a backslash, which engines read as a slash")
        }
        guard authority.isEmpty, scheme != .file, isSpecial else { return }
        if byte(authority.lowerBound) == UInt8(ascii: "/") {
            throw URLTextError(.ambiguousURL, at: authority.lowerBound, "more than two slashes after the scheme")
        }
        throw URLTextError(.invalidHost, at: authority.lowerBound, "expected a host")
    }

    /// Reads and writes a user name with an optional password, and returns the rest of the authority.
    ///
    /// The WHATWG's rules end the user name at the last `@`, and RFC 3986 allows only one, so a second one is rejected.
    private mutating func readUserInfo(_ authority: Range<Int>) throws(URLTextError) -> Range<Int> {
        guard let at = input[authority].firstIndex(of: UInt8(ascii: "@")) else { return authority }
        guard scheme == .other || scheme == .ftp else {
            throw URLTextError(.userinfo, at: at, "a user name before the host; leave it out")
        }
        let rest = at + 1..<authority.upperBound
        let info = authority.lowerBound..<at
        let name = info.lowerBound..<(input[info].firstIndex(of: UInt8(ascii: ":")) ?? at)
        if name.isEmpty { throw URLTextError(.userinfo, at: at, "an empty user name before the host; leave out the @") }
        if let other = input[rest].firstIndex(of: UInt8(ascii: "@")) {
            throw URLTextError(.ambiguousURL, at: other, "a second @ before the path")
        }
        if let index = input[info].firstIndex(of: UInt8(ascii: "\\")) {
            throw URLTextError(.ambiguousURL, at: index, "a backslash in the user name")
        }
        if rest.isEmpty { throw URLTextError(.invalidHost, at: at, "expected a host after the user name") }
        _ = try PercentDecoding.checked(input[info])
        let start = output.count
        write(name, escaping: .escapedInUserInfo)
        if name.upperBound + 1 < at {
            output.append(UInt8(ascii: ":"))
            write(name.upperBound + 1..<at, escaping: .escapedInUserInfo)
        }
        components.userInfo = start..<output.count
        output.append(UInt8(ascii: "@"))
        return rest
    }

    /// Returns the end of the host: the colon before the port, or the end of the authority.
    private func hostEnd(in authority: Range<Int>) throws(URLTextError) -> Int {
        guard byte(authority.lowerBound) == UInt8(ascii: "["), !authority.isEmpty else {
            return input[authority].firstIndex(of: UInt8(ascii: ":")) ?? authority.upperBound
        }
        guard let bracket = input[authority].firstIndex(of: UInt8(ascii: "]")) else {
            throw URLTextError(.invalidHost, at: authority.lowerBound, "expected a closing bracket")
        }
        let end = bracket + 1
        guard end == authority.upperBound || input[end] == UInt8(ascii: ":") else {
            throw URLTextError(.invalidHost, at: end, "expected a port or a path after the bracket")
        }
        return end
    }

    private mutating func writeHost(_ range: Range<Int>) throws(URLTextError) {
        let host = HostReader(input: input, range: range)
        if byte(range.lowerBound) == UInt8(ascii: "["), !range.isEmpty {
            output += try host.address()
        } else if isSpecial {
            output += try host.domain(isFile: scheme == .file)
        } else {
            output += try host.registeredName()
        }
    }

    /// Reads the port.
    ///
    /// - Parameter range: A colon and the digits after it, or an empty range.
    private mutating func readPort(_ range: Range<Int>) throws(URLTextError) {
        guard !range.isEmpty else { return }
        guard components.host?.isEmpty == false, scheme != .file else {
            throw URLTextError(.invalidHost, at: range.lowerBound, "a port without a host")
        }
        var value = 0
        for index in range.dropFirst() {
            guard input[index].isASCIIDigit else { throw URLTextError(.invalidPort, at: index, "expected digits") }
            value = value * 10 + Int(input[index] - UInt8(ascii: "0"))
            guard value <= Int(UInt16.max) else {
                throw URLTextError(.invalidPort, at: range.lowerBound + 1, "expected a port up to 65535")
            }
        }
        guard range.count > 1, scheme.defaultPort != UInt16(value) else { return }
        port = UInt16(value)
        output.append(UInt8(ascii: ":"))
        output.append(contentsOf: String(value).utf8)
    }
}

extension URLReader {
    mutating func readPath() throws(URLTextError) {
        let end = pathEnd()
        hasOpaquePath = components.host == nil && byte(position) != UInt8(ascii: "/")
        let start = output.count
        if hasOpaquePath {
            try readOpaquePath(position..<end)
        } else {
            try readSegments(position..<end)
        }
        components.path = start..<output.count
        position = end
    }

    private func pathEnd() -> Int {
        input[position...].firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? input.count
    }

    private mutating func readOpaquePath(_ range: Range<Int>) throws(URLTextError) {
        var index = range.lowerBound
        while index <= range.upperBound {
            let end = segmentEnd(index..<range.upperBound)
            if try dots(in: index..<end) != nil {
                throw URLTextError(.ambiguousURL, at: index, "a segment of only dots in an opaque path")
            }
            index = end + 1
        }
        write(range, escaping: .escapedInOpaquePath)
        // Without this escape, the trailing spaces would be lost when the query and the fragment are removed later.
        if output.last == UInt8(ascii: " ") {
            output.removeLast()
            writeEscaped(UInt8(ascii: " "))
        }
    }

    private mutating func readSegments(_ range: Range<Int>) throws(URLTextError) {
        let start = output.count
        var index = range.lowerBound
        while index < range.upperBound {
            let segment = index + 1..<segmentEnd(index + 1..<range.upperBound)
            let isLast = segment.upperBound == range.upperBound
            switch try dots(in: segment) {
            case 1:
                if isLast { output.append(UInt8(ascii: "/")) }
            case 2:
                guard scheme != .file else {
                    throw URLTextError(
                        .ambiguousURL,
                        at: segment.lowerBound,
                        "a .. segment in the path of a file URL, which engines resolve differently"
                    )
                }
                let slash = output[start...].lastIndex(of: UInt8(ascii: "/")) ?? start
                output.removeLast(output.count - slash)
                if isLast { output.append(UInt8(ascii: "/")) }
            default:
                output.append(UInt8(ascii: "/"))
                write(segment, escaping: .escapedInPath)
            }
            index = segment.upperBound
        }
        if output.count == start, isSpecial { output.append(UInt8(ascii: "/")) }
        try checkStart(of: start, at: range.lowerBound)
    }

    /// Rejects a path that begins with two slashes in a URL without an authority, because such a path would be parsed
    /// as an authority.
    private func checkStart(of start: Int, at index: Int) throws(URLTextError) {
        guard components.host == nil, output.count > start + 1, output[start + 1] == UInt8(ascii: "/") else { return }
        throw URLTextError(.ambiguousURL, at: index, "a path that looks like a host")
    }

    private func segmentEnd(_ range: Range<Int>) -> Int {
        input[range].firstIndex(of: UInt8(ascii: "/")) ?? range.upperBound
    }

    /// Validates a segment.
    ///
    /// - Returns: The number of dots if the segment is `.` or `..`, and `nil` otherwise.
    private mutating func dots(in segment: Range<Int>) throws(URLTextError) -> Int? {
        var hasEscapes = false
        for index in segment {
            switch input[index] {
            case UInt8(ascii: "%"): hasEscapes = true
            case UInt8(ascii: "\\") where isSpecial:
                throw URLTextError(.ambiguousURL, at: index, "a backslash, which engines read as a slash")
            case UInt8(ascii: "|") where isDriveLetter(segment):
                throw URLTextError(.ambiguousURL, at: index, "a drive letter, which engines rewrite")
            default: continue
            }
        }
        guard hasEscapes else { return plainDots(in: segment) }
        let decoded: [UInt8]
        do throws(URLTextError) {
            decoded = try PercentDecoding.checked(input[segment])
        } catch {
            // An escaped control character is never accepted, because a server may end a name at it.
            guard paths == .lenient, scheme == .http || scheme == .https,
                !PercentDecoding.hasEscapedControl(input[segment])
            else { throw error }
            hasUnreadablePath = true
            return nil
        }
        guard decoded != [UInt8(ascii: ".")], decoded != Array("..".utf8) else {
            throw URLTextError(.ambiguousURL, at: segment.lowerBound, "escaped dots, which engines read as dots")
        }
        return nil
    }

    private func plainDots(in segment: Range<Int>) -> Int? {
        guard (1...2).contains(segment.count), input[segment].allSatisfy({ $0 == UInt8(ascii: ".") }) else {
            return nil
        }
        return segment.count
    }

    /// Returns whether a segment of a file path is a letter followed by a bar or a colon.
    private func isDriveLetter(_ segment: Range<Int>) -> Bool {
        scheme == .file && segment.count == 2 && input[segment.lowerBound].isASCIILetter
    }
}
