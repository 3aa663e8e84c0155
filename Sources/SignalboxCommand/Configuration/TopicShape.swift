import Foundation
import SignalboxCore
import SignalboxRoutes

/// The levels of a topic pattern or filter, for comparison with another.
///
/// Applies the wildcard rules of MQTT 5.0, section 4.7, and the levels' types: integer, UUID, literal.
struct TopicShape: Sendable, Hashable {
    enum Level: Sendable, Hashable {
        case literal([UInt8])
        case any
        case int
        case uuid
        case rest
    }

    private let levels: [Level]

    /// The topics that a pattern matches.
    ///
    /// - Parameter action: The value of `{action}`; `nil` for any.
    init(_ pattern: TopicPattern, action: ActionName? = nil) {
        levels = TopicShape.withoutShare(pattern.text).map { level in
            guard level.hasPrefix("{"), level.hasSuffix("}") else { return TopicShape.filterLevel(level) }
            let capture = level.dropFirst().dropLast()
            let name = capture.prefix { $0 != ":" && $0 != "." }
            let form: Level =
                if capture.hasSuffix("...") {
                    .rest
                } else if capture.hasSuffix(":int") {
                    .int
                } else {
                    capture.hasSuffix(":uuid") ? .uuid : .any
                }
            guard name == "action", let action else { return form }
            // An action name has no slash, so `{action...}` matches a single level.
            let literal = Level.literal(Array(action.text.utf8))
            return form == .rest || TopicShape.overlaps(form, literal) ? literal : form
        }
    }

    /// The topics that a filter matches.
    init(_ filter: TopicFilter) {
        levels = TopicShape.withoutShare(filter.text).map(TopicShape.filterLevel)
    }

    /// Returns whether every topic of `other` also has this shape.
    func covers(_ other: TopicShape) -> Bool {
        guard !other.isSystem || !startsWithWildcard else { return false }
        // Every topic has at least one level, so `+/#` and `#` match the same topics.
        let mine = levels.starts(with: [.any, .rest]) ? [.rest] : levels
        for (position, level) in mine.enumerated() {
            if level == .rest { return true }
            guard position < other.levels.count else { return false }
            guard TopicShape.covers(level, other.levels[position]) else { return false }
        }
        return mine.count == other.levels.count
    }

    /// Returns whether a topic can have both shapes.
    func overlaps(_ other: TopicShape) -> Bool {
        if isSystem && other.startsWithWildcard || other.isSystem && startsWithWildcard { return false }
        for (mine, theirs) in zip(levels, other.levels) {
            if mine == .rest || theirs == .rest { return true }
            guard TopicShape.overlaps(mine, theirs) else { return false }
        }
        let longer = levels.count > other.levels.count ? levels : other.levels
        let common = min(levels.count, other.levels.count)
        return longer.count == common || longer[common] == .rest
    }

    /// Whether the topics begin with `$`, which a leading wildcard does not match.
    private var isSystem: Bool {
        if case .literal(let text)? = levels.first { text.first == UInt8(ascii: "$") } else { false }
    }

    private var startsWithWildcard: Bool {
        if case .literal? = levels.first { false } else { true }
    }

    private static func withoutShare(_ text: String) -> [Substring] {
        let levels = text.split(separator: "/", omittingEmptySubsequences: false)
        return levels.first == "$share" && levels.count > 2 ? Array(levels.dropFirst(2)) : levels
    }

    private static func filterLevel(_ text: Substring) -> Level {
        switch text {
        case "+": .any
        case "#": .rest
        default: .literal(Array(text.utf8))
        }
    }

    private static func covers(_ level: Level, _ other: Level) -> Bool {
        switch (level, other) {
        case (_, .rest): false
        case (.any, _): true
        case (.int, .literal), (.uuid, .literal): overlaps(level, other)
        default: level == other
        }
    }

    private static func overlaps(_ level: Level, _ other: Level) -> Bool {
        switch (level, other) {
        case (.any, _), (_, .any): true
        case (.int, .literal(let text)), (.literal(let text), .int): isInteger(text)
        case (.uuid, .literal(let text)), (.literal(let text), .uuid): isUUID(text)
        default: level == other
        }
    }

    private static func isInteger(_ text: [UInt8]) -> Bool {
        let text = String(decoding: text, as: UTF8.self)
        return text == "-0" || Int64(text).map { String($0) == text } ?? false
    }

    private static func isUUID(_ text: [UInt8]) -> Bool {
        text.count == 36 && UUID(uuidString: String(decoding: text, as: UTF8.self)) != nil
    }
}
