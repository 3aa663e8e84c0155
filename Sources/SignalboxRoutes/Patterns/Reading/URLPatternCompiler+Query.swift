extension URLPatternCompiler {
    /// - Parameter range: behind the `?`.
    mutating func readQuery(_ range: Range<Int>) throws(RoutePatternError) {
        var start = range.lowerBound
        repeat {
            let end = bytes[start..<range.upperBound].firstIndex(of: UInt8(ascii: "&")) ?? range.upperBound
            try readItem(start..<end)
            start = end + 1
        } while start <= range.upperBound
    }

    private mutating func readItem(_ range: Range<Int>) throws(RoutePatternError) {
        guard let equals = bytes[range].firstIndex(of: UInt8(ascii: "=")), equals > range.lowerBound else {
            throw invalidQuery(range.lowerBound)
        }
        let value = equals + 1..<range.upperBound
        guard bytes[value].contains(where: CaptureSyntax.isBrace) else { throw invalidQuery(range.lowerBound) }
        guard !bytes[range.lowerBound..<equals].contains(where: CaptureSyntax.isBrace) else {
            throw captureNotAlone(range.lowerBound)
        }
        let syntax = try readCapture(value)
        guard syntax.kind == .text else {
            throw RoutePatternError(.kindNotAllowed, at: value.lowerBound, "a query's values are text: {name}")
        }
        let item = try decodeItem(range.lowerBound..<equals)
        guard !queryCaptures.contains(where: { $0.item == item }) else {
            throw RoutePatternError(.duplicateItem, at: range.lowerBound, "an item of the query is named once")
        }
        queryCaptures.append(QueryCapture(item: item, name: syntax.name))
    }

    private func decodeItem(_ range: Range<Int>) throws(RoutePatternError) -> String {
        do throws(URLTextError) {
            return try PercentDecoding.formText(bytes, range)
        } catch {
            throw RoutePatternError(.invalidEscape, at: error.offset, error.detail)
        }
    }

    private func invalidQuery(_ offset: Int) -> RoutePatternError {
        let detail = "item={name} expected, with & between several: a query names items and decides nothing"
        return RoutePatternError(.invalidQuery, at: offset, detail)
    }
}
