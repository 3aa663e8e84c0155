import SignalboxRoutes

/// A pattern matches a topic when its filter does, and then has a text for each of its names.
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
        require((try? TopicFilter(pattern.filter.text)) != nil, "a pattern's filter is a filter")
        let captures = pattern.match(topic)
        let isBrought = pattern.filter.matches(topic)
        guard let captures else {
            require(
                !isBrought || texts[0].contains(":"),
                "\(texts[0]) matches when its filter does and no form is asked for"
            )
            return
        }
        require(isBrought, "\(texts[0]) matches only what its filter does")
        require(captures.map(\.name) == pattern.captureNames, "each name of \(texts[0]) has a text")
        require(captures.allSatisfy { isWithin($0.value, topic) }, "a capture of \(texts[0]) is a piece of \(topic)")
    }

    /// MQTT 5.0 section 4.7, level by level.
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
