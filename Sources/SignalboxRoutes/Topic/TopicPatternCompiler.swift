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

    mutating func add(_ text: Substring.UTF8View) throws(TopicError) {
        if let restOffset { throw TopicError(.restNotLast, at: restOffset) }
        if level > 0 { filter.append(TopicGrammar.separator) }
        starts.append((filter.count, offset))
        if text.contains(where: CaptureSyntax.isBrace) {
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
        let syntax = try readCapture(text)
        guard names.insert(syntax.name).inserted else { throw TopicError(.duplicateCapture, at: offset) }
        guard slots.count < TopicPattern.maximumCaptures else { throw TopicError(.tooManyCaptures, at: offset) }
        slots.append(TopicSlot(name: syntax.name, level: level - sharedLevels, kind: syntax.kind))
        if syntax.kind == .rest { restOffset = offset }
        filter.append(syntax.kind == .rest ? TopicGrammar.multiLevel : TopicGrammar.singleLevel)
    }

    private func readCapture(_ text: Substring.UTF8View) throws(TopicError) -> CaptureSyntax {
        do throws(CaptureSyntax.Fault) {
            return try CaptureSyntax(text)
        } catch {
            switch error {
            case .notAlone: throw TopicError(.captureNotAlone, at: offset)
            case .invalidName: throw TopicError(.invalidCaptureName, at: offset)
            case .unknownKind: throw TopicError(.unknownKind, at: offset)
            }
        }
    }

    private var sharedLevels: Int {
        filter.starts(with: TopicGrammar.sharePrefix.utf8) ? 2 : 0
    }

    private func patternOffset(of position: Int) -> Int {
        guard let start = starts.last(where: { $0.filter <= position }) else { return position }
        return start.pattern + position - start.filter
    }
}
