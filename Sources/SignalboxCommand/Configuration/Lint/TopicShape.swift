import SignalboxCore
import SignalboxRoutes

/// The levels of a topic pattern or filter. Use this type to compare patterns and filters with each other.
///
/// The comparison follows the wildcard rules in MQTT 5.0, section 4.7. It also considers the types of the levels:
/// integer, UUID or literal.
struct TopicShape: Sendable, Hashable {
    enum Level: Sendable, Hashable {
        case literal([UInt8])
        /// A wildcard or capture. The wildcard `+` is any text, and the wildcard `#` is the rest of the topic.
        case any(CaptureKind)
    }

    private var levels: [Level]

    /// Creates the shape of the topics that a filter matches.
    init(_ filter: TopicFilter) {
        let texts = filter.text.split(separator: "/", omittingEmptySubsequences: false)
        levels = texts.dropFirst(filter.isShared ? 2 : 0).map { level in
            switch level {
            case "+": .any(.text)
            case "#": .any(.rest)
            default: .literal(Array(level.utf8))
            }
        }
    }

    /// Creates the shape of the topics that a pattern matches.
    ///
    /// - Parameter action: The value of `{action}`, or `nil` for any value.
    init(_ pattern: TopicPattern, action: ActionName? = nil) {
        self.init(pattern.filter)
        for slot in pattern.slots {
            levels[slot.level] = .any(slot.kind)
            guard slot.name == "action", let action, slot.kind.accepts(action.text.utf8) else { continue }
            // An action's name has no slash, so `{action...}` matches a single level.
            levels[slot.level] = .literal(Array(action.text.utf8))
        }
    }

    /// Returns whether every topic with the shape `other` also has this shape.
    func covers(_ other: TopicShape) -> Bool {
        guard !other.isSystem || !startsWithWildcard else { return false }
        // Every topic has at least one level, so `+/#` and `#` match the same topics.
        let mine = levels.starts(with: [.any(.text), .any(.rest)]) ? [.any(.rest)] : levels
        for (position, level) in mine.enumerated() {
            if level == .any(.rest) { return true }
            guard position < other.levels.count else { return false }
            guard TopicShape.covers(level, other.levels[position]) else { return false }
        }
        return mine.count == other.levels.count
    }

    /// Returns whether any topic can have both shapes.
    func overlaps(_ other: TopicShape) -> Bool {
        if isSystem && other.startsWithWildcard || other.isSystem && startsWithWildcard { return false }
        for (mine, theirs) in zip(levels, other.levels) {
            if mine == .any(.rest) || theirs == .any(.rest) { return true }
            guard TopicShape.overlaps(mine, theirs) else { return false }
        }
        let longer = levels.count > other.levels.count ? levels : other.levels
        let common = min(levels.count, other.levels.count)
        return longer.count == common || longer[common] == .any(.rest)
    }

    /// Whether the topics begin with `$`, which a leading wildcard does not match.
    private var isSystem: Bool {
        if case .literal(let text)? = levels.first { text.first == UInt8(ascii: "$") } else { false }
    }

    private var startsWithWildcard: Bool {
        if case .literal? = levels.first { false } else { true }
    }

    private static func covers(_ level: Level, _ other: Level) -> Bool {
        switch (level, other) {
        case (_, .any(.rest)): false
        case (.any(.text), _): true
        case (.any(let kind), .literal(let text)): kind.accepts(text)
        default: level == other
        }
    }

    private static func overlaps(_ level: Level, _ other: Level) -> Bool {
        switch (level, other) {
        case (.any(.text), _), (_, .any(.text)): true
        case (.any(let kind), .literal(let text)), (.literal(let text), .any(let kind)): kind.accepts(text)
        default: level == other
        }
    }
}
