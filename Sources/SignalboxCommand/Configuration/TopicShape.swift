import Foundation
import SignalboxCore
import SignalboxRoutes

/// The levels of a topic pattern or filter, so that two of them can be compared.
///
/// It knows what MQTT 5.0, section 4.7, says of wildcards, and which forms of levels exclude each other.
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
    /// - Parameter action: what `{action}` stands for; anything when `nil`.
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
            // An action has no slash, so a rest that is one is a single level.
            let literal = Level.literal(Array(action.text.utf8))
            return form == .rest || TopicShape.meets(form, literal) ? literal : form
        }
    }

    /// The topics that a filter matches.
    init(_ filter: TopicFilter) {
        levels = TopicShape.withoutShare(filter.text).map(TopicShape.filterLevel)
    }

    /// Whether each topic of the other is one of these.
    func covers(_ other: TopicShape) -> Bool {
        guard !other.isSystem || !startsWithWildcard else { return false }
        // No topic is without levels, so these two are the same.
        let mine = levels.starts(with: [.any, .rest]) ? [.rest] : levels
        for (position, level) in mine.enumerated() {
            if level == .rest { return true }
            guard position < other.levels.count else { return false }
            guard TopicShape.covers(level, other.levels[position]) else { return false }
        }
        return mine.count == other.levels.count
    }

    /// Whether there can be a topic that is one of both.
    func meets(_ other: TopicShape) -> Bool {
        if isSystem && other.startsWithWildcard || other.isSystem && startsWithWildcard { return false }
        for (mine, theirs) in zip(levels, other.levels) {
            if mine == .rest || theirs == .rest { return true }
            guard TopicShape.meets(mine, theirs) else { return false }
        }
        let longer = levels.count > other.levels.count ? levels : other.levels
        let common = min(levels.count, other.levels.count)
        return longer.count == common || longer[common] == .rest
    }

    /// Whether its topics begin with `$`, which wildcards at the beginning do not match.
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
        case (.int, .literal), (.uuid, .literal): meets(level, other)
        default: level == other
        }
    }

    private static func meets(_ level: Level, _ other: Level) -> Bool {
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
