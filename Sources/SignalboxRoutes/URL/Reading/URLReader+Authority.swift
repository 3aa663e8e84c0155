extension URLReader {
    mutating func readAuthority() throws(URLTextError) {
        guard has("//", at: position) else {
            guard !isSpecial else {
                throw URLTextError(.ambiguousURL, at: position, "two slashes expected behind the scheme")
            }
            return
        }
        position += 2
        output.append(contentsOf: "//".utf8)
        let end = authorityEnd()
        try checkAuthority(position..<end)
        let hostEnd = try hostEnd(in: position..<end)
        let start = output.count
        try writeHost(position..<hostEnd)
        places.host = start..<output.count
        try readPort(hostEnd..<end)
        position = end
    }

    private func authorityEnd() -> Int {
        let ends = input[position...].firstIndex { byte in
            byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
        }
        return ends ?? input.count
    }

    private func checkAuthority(_ authority: Range<Int>) throws(URLTextError) {
        for place in authority {
            switch input[place] {
            case UInt8(ascii: "@"):
                throw URLTextError(.userinfo, at: place, "a user name before the host; leave it out")
            case UInt8(ascii: "\\") where isSpecial:
                throw URLTextError(.ambiguousURL, at: place, "a backslash, which engines read as a slash")
            default: continue
            }
        }
        guard authority.isEmpty, scheme != .file, isSpecial else { return }
        if byte(authority.lowerBound) == UInt8(ascii: "/") {
            throw URLTextError(.ambiguousURL, at: authority.lowerBound, "more than two slashes behind the scheme")
        }
        throw URLTextError(.invalidHost, at: authority.lowerBound, "a host expected")
    }

    /// Where the host ends: at the colon of the port, or with the authority.
    private func hostEnd(in authority: Range<Int>) throws(URLTextError) -> Int {
        guard byte(authority.lowerBound) == UInt8(ascii: "["), !authority.isEmpty else {
            return input[authority].firstIndex(of: UInt8(ascii: ":")) ?? authority.upperBound
        }
        guard let bracket = input[authority].firstIndex(of: UInt8(ascii: "]")) else {
            throw URLTextError(.invalidHost, at: authority.lowerBound, "a closing bracket expected")
        }
        let end = bracket + 1
        guard end == authority.upperBound || input[end] == UInt8(ascii: ":") else {
            throw URLTextError(.invalidHost, at: end, "a port or a path expected behind the bracket")
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

    /// - Parameter range: a colon and what follows, or nothing.
    private mutating func readPort(_ range: Range<Int>) throws(URLTextError) {
        guard !range.isEmpty else { return }
        guard places.host?.isEmpty == false, scheme != .file else {
            throw URLTextError(.invalidHost, at: range.lowerBound, "a port without a host")
        }
        var value = 0
        for place in range.dropFirst() {
            guard input[place].isASCIIDigit else { throw URLTextError(.invalidPort, at: place, "digits expected") }
            value = value * 10 + Int(input[place] - UInt8(ascii: "0"))
            guard value <= Int(UInt16.max) else {
                throw URLTextError(.invalidPort, at: range.lowerBound + 1, "a port up to 65535 expected")
            }
        }
        guard range.count > 1, scheme.defaultPort != UInt16(value) else { return }
        port = UInt16(value)
        output.append(UInt8(ascii: ":"))
        output.append(contentsOf: String(value).utf8)
    }
}
