extension URLReader {
    mutating func readPath() throws(URLTextError) {
        let end = pathEnd()
        hasOpaquePath = places.host == nil && byte(position) != UInt8(ascii: "/")
        let start = output.count
        if hasOpaquePath {
            try readOpaquePath(position..<end)
        } else {
            try readSegments(position..<end)
        }
        places.path = start..<output.count
        position = end
    }

    private func pathEnd() -> Int {
        input[position...].firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? input.count
    }

    private mutating func readOpaquePath(_ range: Range<Int>) throws(URLTextError) {
        var place = range.lowerBound
        while place <= range.upperBound {
            let end = segmentEnd(place..<range.upperBound)
            if try dots(in: place..<end) != nil {
                throw URLTextError(.ambiguousURL, at: place, "dots alone between slashes, in an opaque path")
            }
            place = end + 1
        }
        write(range, escaping: .escapedInOpaquePath)
        // Else the last of several spaces would be lost when query and fragment are taken away.
        if output.last == UInt8(ascii: " ") {
            output.removeLast()
            writeEscaped(UInt8(ascii: " "))
        }
    }

    private mutating func readSegments(_ range: Range<Int>) throws(URLTextError) {
        let start = output.count
        var place = range.lowerBound
        while place < range.upperBound {
            let segment = place + 1..<segmentEnd(place + 1..<range.upperBound)
            let isLast = segment.upperBound == range.upperBound
            switch try dots(in: segment) {
            case 1:
                if isLast { output.append(UInt8(ascii: "/")) }
            case 2:
                guard scheme != .file else {
                    throw URLTextError(
                        .ambiguousURL,
                        at: segment.lowerBound,
                        "two dots in a file's path, where drives count"
                    )
                }
                let slash = output[start...].lastIndex(of: UInt8(ascii: "/")) ?? start
                output.removeLast(output.count - slash)
                if isLast { output.append(UInt8(ascii: "/")) }
            default:
                output.append(UInt8(ascii: "/"))
                write(segment, escaping: .escapedInPath)
            }
            place = segment.upperBound
        }
        if output.count == start, isSpecial { output.append(UInt8(ascii: "/")) }
        try checkStart(of: start, at: range.lowerBound)
    }

    /// Without an authority a path that begins with two slashes would be read as one.
    private func checkStart(of start: Int, at place: Int) throws(URLTextError) {
        guard places.host == nil, output.count > start + 1, output[start + 1] == UInt8(ascii: "/") else { return }
        throw URLTextError(.ambiguousURL, at: place, "a path that looks like a host")
    }

    private func segmentEnd(_ range: Range<Int>) -> Int {
        input[range].firstIndex(of: UInt8(ascii: "/")) ?? range.upperBound
    }

    /// Checks a segment.
    ///
    /// - Returns: 1 or 2 for a segment of so many dots alone.
    private func dots(in segment: Range<Int>) throws(URLTextError) -> Int? {
        var hasEscapes = false
        for place in segment {
            switch input[place] {
            case UInt8(ascii: "%"): hasEscapes = true
            case UInt8(ascii: "\\") where isSpecial:
                throw URLTextError(.ambiguousURL, at: place, "a backslash, which engines read as a slash")
            case UInt8(ascii: "|") where isDriveLetter(segment):
                throw URLTextError(.ambiguousURL, at: place, "a drive letter, which engines rewrite")
            default: continue
            }
        }
        guard hasEscapes else { return plainDots(in: segment) }
        let decoded = try PercentDecoding.checked(input, segment)
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

    /// A letter and a bar or a colon, in the path of a file.
    private func isDriveLetter(_ segment: Range<Int>) -> Bool {
        scheme == .file && segment.count == 2 && input[segment.lowerBound].isASCIILetter
    }
}
