/// A topic filter with named levels, such as `push/{device}/{action}`.
///
/// Use a pattern to subscribe to topics and to read parts of each topic as values:
///
/// ```swift
/// let pattern = try TopicPattern("push/{device}/{action}")
/// print(pattern.filter.text)  // push/+/+
/// let captures = pattern.match("push/kiosk-7/loading")
/// print(captures?["device"] ?? "")  // kiosk-7
/// ```
///
/// - `{name}` matches any one level, even an empty one, like `+`.
/// - `{name:int}` and `{name:uuid}` match any one level that has the form of the given ``CaptureKind``.
/// - `{name...}`, as the last level, matches all remaining levels, like `#`. The rest may be empty, so `a/{rest...}`
///   captures the same empty text in `a` and in `a/`.
/// - `+`, `#` and `$share/NAME/` have the same meaning as in a ``TopicFilter``.
///
/// A capture's name matches `[A-Za-z][A-Za-z0-9_]*` and is unique in the pattern. Braces cannot be used for anything
/// other than captures.
///
/// Brokers do not know about capture kinds. A subscription has `+` in place of a capture with a kind, so the broker
/// also delivers messages on topics that the pattern does not match.
///
/// Two patterns are equal only if they have the same bytes.
public struct TopicPattern: Sendable, Hashable {
    /// The maximum number of captures in a pattern.
    public static let maximumCaptures = URLPattern.maximumCaptures
    /// The maximum length of a capture's name in bytes.
    public static let maximumNameLength = URLPattern.maximumNameLength

    private let bytes: ByteText

    /// The pattern as given.
    public var text: String { bytes.text }
    /// The filter to subscribe to: the pattern with its captures replaced by `+` and `#`. The filter matches every
    /// topic that the pattern matches and, if a capture has a kind, other topics too.
    public let filter: TopicFilter
    package let slots: [TopicSlot]

    /// Creates a pattern from a configuration. A pattern has at most ``TopicName/maximumLength`` bytes.
    ///
    /// - Throws: ``TopicError`` if a capture or the resulting filter is malformed, or if a limit is exceeded. The
    ///   error's offset refers to the pattern.
    public init(_ text: String) throws(TopicError) {
        try TopicGrammar.checkLength(text.utf8)
        var compiler = TopicPatternCompiler()
        for level in text.utf8.split(separator: TopicGrammar.separator, omittingEmptySubsequences: false) {
            try compiler.add(level)
        }
        bytes = ByteText(text)
        filter = try compiler.makeFilter()
        slots = compiler.slots
    }

    /// The names of the captures, from left to right.
    public var captureNames: [String] { slots.map(\.name) }

    /// Returns a topic's captures if the topic matches the pattern's filter and the captured levels have the required
    /// kinds.
    ///
    /// The cost is linear in the lengths of the pattern and the topic.
    ///
    /// - Returns: `nil` if the topic does not match. If the pattern has no captures, the collection is empty.
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

    /// Returns the captures from a topic that is given as text.
    ///
    /// - Returns: `nil` if the topic does not match or the text is not a topic name.
    public func match(_ topic: String) -> RouteCaptures? {
        guard let name = try? TopicName(topic) else { return nil }
        return match(name)
    }

    private static func nextLevel(in topic: String.UTF8View, after position: String.Index) -> String.Index {
        guard let slash = topic[position...].firstIndex(of: TopicGrammar.separator) else { return topic.endIndex }
        return topic.index(after: slash)
    }
}

extension TopicPattern: CustomStringConvertible {
    /// The pattern as given, including any control characters. Escape this text before you display it.
    public var description: String { text }
}

/// Compiles a pattern, level by level, into a filter and the positions of its captures.
struct TopicPatternCompiler {
    private(set) var slots: [TopicSlot] = []
    private var names: Set<String> = []
    private var filter: [UInt8] = []
    private var level = 0
    private var offset = 0
    private var restOffset: Int?
    /// The start of each level in both texts, used to convert an error's position in the filter to the position in the
    /// pattern.
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
        do throws(CaptureSyntax.SyntaxError) {
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

/// The place of a capture in a pattern.
package struct TopicSlot: Sendable, Hashable {
    package let name: String
    /// The number of the level in the topic, counted from 0, without the levels of `$share/NAME`.
    package let level: Int
    /// The capture's kind. A capture of kind `rest` extends from this level to the end.
    package let kind: CaptureKind
}
