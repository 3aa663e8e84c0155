/// A topic filter whose levels may have names: `push/{device}/{action}`.
///
/// - `{name}` stands for any one level, as `+` does, an empty one included.
/// - `{name:int}` and `{name:uuid}` stand for one level of that form: see ``CaptureKind``.
/// - `{name...}`, as the last level, stands for all that remains, as `#` does; it is empty when nothing remains:
///   `a/{rest...}` finds the same empty text in `a` and in `a/`.
/// - `+`, `#` and `$share/NAME/` are what they are in a ``TopicFilter``.
///
/// A name is `[A-Za-z][A-Za-z0-9_]*` and occurs once. Braces have no other use in a pattern.
///
/// A broker knows no forms: what is subscribed to has `+` where the pattern has a number, and brings topics that the
/// pattern does not match.
public struct TopicPattern: Sendable {
    /// The most captures of one pattern.
    public static let maximumCaptures = URLPattern.maximumCaptures
    /// The most bytes of a capture's name.
    public static let maximumNameLength = URLPattern.maximumNameLength

    /// The pattern as it was given.
    public let text: String
    /// What to subscribe to: the pattern with `+` and `#` in place of its captures. It matches what the pattern
    /// matches, and more where a capture has a kind.
    public let filter: TopicFilter
    private let slots: [TopicSlot]

    /// A pattern that came from a configuration. It has at most ``TopicName/maximumLength`` bytes.
    ///
    /// - Throws: ``TopicError`` when a capture is malformed, the filter would be, or a limit is passed; the offset
    ///   counts in the pattern.
    public init(_ text: String) throws(TopicError) {
        try TopicGrammar.checkLength(text.utf8)
        var compiler = TopicPatternCompiler()
        for level in text.utf8.split(separator: TopicGrammar.separator, omittingEmptySubsequences: false) {
            try compiler.add(level)
        }
        self.text = text
        filter = try compiler.makeFilter()
        slots = compiler.slots
    }

    /// The names of the captures, from left to right.
    public var captureNames: [String] { slots.map(\.name) }

    /// The captures of a topic that the pattern's filter matches and whose levels have the forms that captures ask for.
    ///
    /// Time grows with the length of pattern and topic alone.
    ///
    /// - Returns: `nil` when the topic does not match; no captures when the pattern names nothing.
    public func match(_ topic: TopicName) -> RouteCaptures? {
        guard filter.matches(topic) else { return nil }
        var captures: [RouteCapture] = []
        captures.reserveCapacity(slots.count)
        var position = topic.text.utf8.startIndex
        var level = 0
        for slot in slots {
            while level < slot.level {
                position = TopicPattern.nextLevel(in: topic.text.utf8, after: position)
                level += 1
            }
            let rest = topic.text.utf8[position...]
            let value = slot.kind == .rest ? rest : rest.prefix { $0 != TopicGrammar.separator }
            guard slot.kind.accepts(value) else { return nil }
            captures.append(RouteCapture(name: slot.name, value: String(Substring(value)), kind: slot.kind))
        }
        return RouteCaptures(captures)
    }

    /// The same for a topic that may be none.
    ///
    /// - Returns: `nil` when the topic does not match or the text is no topic name.
    public func match(_ topic: String) -> RouteCaptures? {
        guard let name = try? TopicName(topic) else { return nil }
        return match(name)
    }

    private static func nextLevel(in topic: String.UTF8View, after position: String.Index) -> String.Index {
        guard let slash = topic[position...].firstIndex(of: TopicGrammar.separator) else { return topic.endIndex }
        return topic.index(after: slash)
    }
}

extension TopicPattern: Hashable {
    /// Equal when the bytes are.
    public static func == (left: TopicPattern, right: TopicPattern) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        TopicGrammar.hash(text, into: &hasher)
    }
}

extension TopicPattern: CustomStringConvertible {
    /// The pattern as it was given, control characters included: escape it before it is shown.
    public var description: String { text }
}

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

/// A capture's place in a pattern.
struct TopicSlot: Sendable {
    let name: String
    /// Counted from 0, in the topic: `$share/NAME` is no level of it.
    let level: Int
    /// A rest is this level and all that follow.
    let kind: CaptureKind
}
