/// Turns a pattern, level by level, into a filter and the places of its captures.
struct TopicPatternCompiler {
    private(set) var slots: [TopicSlot] = []
    private var names: Set<String> = []
    private var filter: [UInt8] = []
    private var level = 0
    private var offset = 0
    private var restOffset: Int?
    /// Where each level begins in either text: a fault is found in the filter and reported in the pattern.
    private var starts: [(filter: Int, pattern: Int)] = []

    private static let open = UInt8(ascii: "{")
    private static let close = UInt8(ascii: "}")
    private static let dots = "...".utf8

    mutating func add(_ text: Substring.UTF8View) throws(TopicError) {
        if let restOffset { throw TopicError(.restNotLast, at: restOffset) }
        if level > 0 { filter.append(TopicGrammar.separator) }
        starts.append((filter.count, offset))
        if text.contains(where: { $0 == Self.open || $0 == Self.close }) {
            try addCapture(text)
        } else {
            filter.append(contentsOf: text)
        }
        level += 1
        offset += text.count + 1
    }

    func makeFilter() throws(TopicError) -> TopicFilter {
        do throws(TopicError) {
            return try TopicFilter(String(decoding: filter, as: UTF8.self))
        } catch {
            throw TopicError(error.reason, at: patternOffset(of: error.offset))
        }
    }

    private mutating func addCapture(_ text: Substring.UTF8View) throws(TopicError) {
        guard text.first == Self.open, text.last == Self.close else { throw TopicError(.captureNotAlone, at: offset) }
        var name = text.dropFirst().dropLast()
        let takesRest = name.suffix(Self.dots.count).elementsEqual(Self.dots)
        if takesRest { name = name.dropLast(Self.dots.count) }
        if name.contains(where: { $0 == Self.open || $0 == Self.close }) {
            throw TopicError(.captureNotAlone, at: offset)
        }
        guard Self.isName(name) else { throw TopicError(.invalidCaptureName, at: offset) }
        let key = String(Substring(name))
        guard names.insert(key).inserted else { throw TopicError(.duplicateCapture, at: offset) }
        guard slots.count < TopicPattern.maximumCaptures else { throw TopicError(.tooManyCaptures, at: offset) }
        slots.append(TopicSlot(name: key, level: level - sharedLevels, takesRest: takesRest))
        if takesRest { restOffset = offset }
        filter.append(takesRest ? TopicGrammar.multiLevel : TopicGrammar.singleLevel)
    }

    private var sharedLevels: Int {
        filter.starts(with: TopicGrammar.sharePrefix.utf8) ? 2 : 0
    }

    private func patternOffset(of position: Int) -> Int {
        guard let start = starts.last(where: { $0.filter <= position }) else { return position }
        return start.pattern + position - start.filter
    }

    private static func isName(_ text: Substring.UTF8View) -> Bool {
        guard let first = text.first, isLetter(first) else { return false }
        return text.count <= TopicPattern.maximumNameLength
            && text.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        let lower = byte | 0x20
        return lower >= UInt8(ascii: "a") && lower <= UInt8(ascii: "z")
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }
}
