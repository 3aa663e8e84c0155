import SignalboxRoutes

/// Checks that a table of one pattern matches as the pattern does, and that captures are pieces of the decoded URL.
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
            require((0...text.utf8.count).contains(error.offset), "\(error) has its offset within \(text)")
            return nil
        }
    }

    private static func table(_ patterns: [URLPattern]) -> RouteTable<Int>? {
        try? RouteTable(patterns.enumerated().map { ($1, $0) })
    }

    /// Checks that a rest for all URLs with a path has the lowest precedence, and matches if no other pattern does.
    private static func checkPrecedence(_ pattern: URLPattern, _ url: URLText) {
        guard let all = try? URLPattern("/{all...}"), let routes = table([all, pattern]) else { return }
        let match = routes.match(url)
        let isMatched = pattern.match(url) != nil
        require((match?.value == 1) == isMatched, "\(pattern) precedes the catch-all")
        require(isMatched || (match != nil) == (all.match(url) != nil), "the catch-all on \(url)")
    }

    private static func check(_ captures: RouteCaptures, of pattern: URLPattern, _ url: URLText) {
        let queryNames = pattern.queryCaptures.map(\.name)
        require(captures.map(\.name) + queryNames == pattern.captureNames, "each name of \(pattern) has a value")
        let pieces = [url.decodedHost ?? ""] + url.segments
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
        let items = (try? url.readableQueryItems().items) ?? []
        for capture in pattern.queryCaptures {
            let found = items.filter { $0.name.utf8.elementsEqual(capture.item.utf8) }
            require(found.count <= 1, "\(capture.item) occurs once in \(url)")
            require(values[capture.name] == found.first?.value, "\(capture.item) of \(url)")
        }
    }
}

/// Checks that an accepted URL has a normal form and agrees with a reader of RFC 3986, and that a refused one has an
/// offset within the text. A reference after a line feed is resolved against the URL.
enum URLTarget {
    static func run(_ input: [UInt8]) {
        let parts = input.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        let texts = parts.map { String(decoding: $0, as: UTF8.self) }
        guard let url = checked(texts[0]) else { return }
        guard texts.count > 1 else { return }
        do throws(URLTextError) {
            let other = try URLText(texts[1], relativeTo: url)
            require((try? URLText(other.text)) == other, "a resolved URL is in normal form")
        } catch {
            require((0...texts[1].utf8.count).contains(error.offset), "the offset is within the reference \(texts[1])")
        }
    }

    private static func checked(_ text: String) -> URLText? {
        do throws(URLTextError) {
            let url = try URLText(text)
            require((try? URLText(url.text)) == url, "the normalization of \(text) is idempotent")
            require(url.text.utf8.allSatisfy { $0 > 0x1F && $0 < 0x7F }, "the normal form of \(text) is ASCII")
            require(url.text.utf8.starts(with: "\(url.scheme):".utf8), "\(text) begins with its scheme")
            let other = RFC3986Reading(text)
            require(isSameHost(url.decodedHost, other.host), "the host of \(text)")
            require(isSamePath(url.segments, other.segments), "the path of \(text)")
            if let items = try? url.queryItems() {
                let readable = try? url.readableQueryItems()
                require(readable?.items == items && readable?.unreadable == 0, "the items of \(text)")
            }
            require((try? URLText(text, paths: .lenient)) == url, "a strict path is a lenient one in \(text)")
            if let origin = url.origin { require((try? WebOrigin(origin.description)) == origin, "\(origin)") }
            return url
        } catch {
            require((0...text.utf8.count).contains(error.offset), "the offset is within \(text)")
            return nil
        }
    }

    /// Addresses in brackets have several spellings.
    private static func isSameHost(_ one: String?, _ other: String?) -> Bool {
        if let one, let other, one.hasPrefix("["), other.hasPrefix("[") { return true }
        return one?.lowercased() == other
    }

    private static func isSamePath(_ one: [String], _ other: [String]) -> Bool {
        one == other || (one == [""] && other.isEmpty)
    }
}

/// Checks that a pattern matches a topic if its filter does, and that each of its names then has a text.
enum TopicTarget {
    static func run(_ input: [UInt8]) {
        let parts = input.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        let texts = parts.map { String(decoding: $0, as: UTF8.self) }
        let topic = texts.count > 1 ? texts[1] : texts[0]
        let name = try? TopicName(topic)
        if let filter = try? TopicFilter(texts[0]) {
            let isMatched = name.map { matches(filter, $0) } ?? false
            require(filter.matches(topic) == isMatched, "\(texts[0]) and \(topic)")
        }
        guard let pattern = try? TopicPattern(texts[0]) else { return }
        require((try? TopicFilter(pattern.filter.text)) != nil, "the filter of a pattern is valid")
        let captures = pattern.match(topic)
        let isBrought = pattern.filter.matches(topic)
        guard let captures else {
            require(
                !isBrought || texts[0].contains(":"),
                "\(texts[0]) matches if its filter does and no capture kind is given"
            )
            return
        }
        require(isBrought, "\(texts[0]) matches only topics that its filter matches")
        require(captures.map(\.name) == pattern.captureNames, "each name of \(texts[0]) has a value")
        require(captures.allSatisfy { isWithin($0.value, topic) }, "a capture of \(texts[0]) is a piece of \(topic)")
    }

    /// A second implementation of MQTT 5.0, section 4.7, level by level.
    private static func matches(_ filter: TopicFilter, _ topic: TopicName) -> Bool {
        var wanted = filter.text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)[...]
        if filter.isShared { wanted = wanted.dropFirst(2) }
        var levels = topic.text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)[...]
        if topic.text.utf8.first == UInt8(ascii: "$"), wanted.first.map(isWildcard) == true { return false }
        while let level = wanted.popFirst() {
            if level.elementsEqual("#".utf8) { return true }
            guard let found = levels.popFirst() else { return false }
            guard level.elementsEqual("+".utf8) || level.elementsEqual(found) else { return false }
        }
        return levels.isEmpty
    }

    private static func isWildcard(_ level: Substring.UTF8View) -> Bool {
        level.elementsEqual("#".utf8) || level.elementsEqual("+".utf8)
    }

    private static func isWithin(_ value: String, _ topic: String) -> Bool {
        let (piece, whole) = (Array(value.utf8), Array(topic.utf8))
        guard piece.count < whole.count else { return piece == whole }
        return (0...whole.count - piece.count).contains { whole[$0...].starts(with: piece) }
    }
}
