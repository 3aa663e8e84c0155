import SignalboxRoutes

/// A table of one pattern finds what the pattern finds, and what is found are pieces of the decoded URL.
enum RouteTarget {
    static func run(_ input: [UInt8]) {
        let parts = input.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        let texts = parts.map { String(decoding: $0, as: UTF8.self) }
        let url = try? URLText(texts.count > 1 ? texts[1] : texts[0])
        guard let pattern = pattern(texts[0]) else { return }
        if pattern.captureNames.isEmpty, let same = try? URLText(pattern.text) {
            require(pattern.match(same)?.isEmpty == true, "\(pattern) has no captures and matches itself")
        }
        guard let url else { return }
        let captures = pattern.match(url)
        require(table([pattern])?.match(url)?.captures == captures, "a table of \(pattern) on \(url)")
        checkPrecedence(pattern, url)
        if let captures { check(captures, of: pattern, url) }
        checkQuery(pattern, url)
    }

    private static func pattern(_ text: String) -> URLPattern? {
        do throws(RoutePatternError) {
            let pattern = try URLPattern(text)
            require(Set(pattern.captureNames).count == pattern.captureNames.count, "each name of \(text) occurs once")
            require(table([pattern, pattern]) == nil, "\(text) twice is ambiguous")
            return pattern
        } catch {
            require((0...text.utf8.count).contains(error.offset), "\(error) is within \(text)")
            return nil
        }
    }

    private static func table(_ patterns: [URLPattern]) -> RouteTable<Int>? {
        try? RouteTable(patterns.enumerated().map { ($1, $0) })
    }

    /// A rest for all URLs with a path comes last, and is found where nothing else is.
    private static func checkPrecedence(_ pattern: URLPattern, _ url: URLText) {
        guard let all = try? URLPattern("/{all...}"), let routes = table([all, pattern]) else { return }
        let match = routes.match(url)
        let isMatched = pattern.match(url) != nil
        require((match?.value == 1) == isMatched, "\(pattern) comes before a rest for all")
        require(isMatched || (match != nil) == (all.match(url) != nil), "a rest for all on \(url)")
    }

    private static func check(_ captures: RouteCaptures, of pattern: URLPattern, _ url: URLText) {
        let queryNames = pattern.queryCaptures.map(\.name)
        require(captures.map(\.name) + queryNames == pattern.captureNames, "each name of \(pattern) has a text")
        let pieces = [url.host ?? ""] + url.segments
        for capture in captures {
            let value = capture.value.utf8
            switch capture.kind {
            case .rest:
                let rest = value.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map {
                    String($0) ?? ""
                }
                let end = pieces.last == "" ? pieces.dropLast() : pieces[...]
                let isEnd = end.suffix(rest.count).elementsEqual(rest) { $0.utf8.elementsEqual($1.utf8) }
                require(value.isEmpty || isEnd, "the rest of \(pattern) on \(url)")
            default:
                require(!value.isEmpty, "a capture of \(pattern) is not empty")
                require(
                    pieces.contains { $0.utf8.elementsEqual(value) },
                    "a capture of \(pattern) is a piece of \(url)"
                )
            }
            if capture.kind == .int { require(Int64(capture.value) != nil, "\(capture.value) is a number") }
            if capture.kind == .uuid { require(value.count == 36, "\(capture.value) is a UUID") }
        }
    }

    private static func checkQuery(_ pattern: URLPattern, _ url: URLText) {
        guard let values = try? pattern.queryValues(of: url), !pattern.queryCaptures.isEmpty else { return }
        let items = (try? url.queryItems()) ?? []
        for capture in pattern.queryCaptures {
            let found = items.filter { $0.name.utf8.elementsEqual(capture.item.utf8) }
            require(found.count <= 1, "\(capture.item) stands once in \(url)")
            require(values[capture.name] == found.first?.value, "\(capture.item) of \(url)")
        }
    }
}
