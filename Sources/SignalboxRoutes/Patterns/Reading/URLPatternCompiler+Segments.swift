extension URLPatternCompiler {
    /// - Parameter range: behind the first slash, or all of an opaque path.
    mutating func readSegments(_ range: Range<Int>) throws(RoutePatternError) {
        var start = range.lowerBound
        while start < range.upperBound {
            let end = bytes[start..<range.upperBound].firstIndex(of: UInt8(ascii: "/")) ?? range.upperBound
            try readSegment(start..<end)
            start = end + 1
        }
    }

    private mutating func readSegment(_ range: Range<Int>) throws(RoutePatternError) {
        if let restOffset { throw restNotLast(restOffset) }
        guard !range.isEmpty else {
            throw RoutePatternError(.emptySegment, at: range.lowerBound, "text or a capture expected between slashes")
        }
        if bytes[range].contains(where: CaptureSyntax.isBrace) {
            _ = try addCapture(range)
            return
        }
        let text = String(decoding: try decode(range), as: UTF8.self)
        guard text != ".", text != ".." else {
            throw RoutePatternError(.dotSegment, at: range.lowerBound, "no URL has . or .. as a segment")
        }
        elements.append(.literal(text))
    }

    /// - Returns: the kind.
    mutating func addCapture(_ range: Range<Int>) throws(RoutePatternError) -> CaptureKind {
        let syntax = try readCapture(range)
        if syntax.kind == .rest { restOffset = range.lowerBound }
        elements.append(.capture(name: syntax.name, kind: syntax.kind))
        return syntax.kind
    }

    private func decode(_ range: Range<Int>) throws(RoutePatternError) -> [UInt8] {
        do throws(URLTextError) {
            return try PercentDecoding.checked(bytes, range)
        } catch {
            throw RoutePatternError(.invalidEscape, at: error.offset, error.detail)
        }
    }
}
