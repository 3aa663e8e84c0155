import SignalboxCore
import SignalboxRoutes

/// A topic with `{action}` and `{id}` as levels, as a plugin publishes to it.
struct TopicTemplate: Sendable, Hashable {
    private enum Level: Sendable, Hashable {
        case text(String)
        case action
        case id
    }

    /// As it is written.
    let text: String
    private let levels: [Level]

    /// - Throws: ``ValueTextError`` for braces around something else, or around a part of a level, and for what no topic
    ///   has: wildcards, U+0000, a `$` at its beginning.
    init(_ text: String) throws(ValueTextError) {
        var levels: [Level] = []
        for level in text.split(separator: "/", omittingEmptySubsequences: false) {
            switch level {
            case "{action}": levels.append(.action)
            case "{id}": levels.append(.id)
            case _ where level.contains { "{}".contains($0) }:
                throw ValueTextError(description: "a level may be {action} or {id}, and has no other braces")
            default: levels.append(.text(String(level)))
            }
        }
        guard !text.hasPrefix("$") else {
            throw ValueTextError(description: "topics that begin with '$' are the broker's own")
        }
        self.text = text
        self.levels = levels
        do throws(TopicError) {
            _ = try TopicName(filled(action: "a", id: "i"))
        } catch {
            throw ValueTextError(description: "no topic to publish to: \(error)")
        }
    }

    /// All that it may become.
    var filter: TopicFilter? { try? TopicFilter(filled(action: "+", id: "+")) }

    /// The topic for an action. Its id comes from outside, and must not lead to other topics than those that were meant.
    ///
    /// - Throws: ``ValueTextError`` when the id is no level.
    func topic(for action: ActionName, id: ActionID) throws(ValueTextError) -> String {
        let isForbidden = { (scalar: Unicode.Scalar) in
            scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || "/+#".unicodeScalars.contains(scalar)
        }
        guard !levels.contains(.id) || !id.text.isEmpty && !id.text.unicodeScalars.contains(where: isForbidden) else {
            throw ValueTextError(
                description: "the id is no level of a topic, which has no '/', '+', '#' and control characters"
            )
        }
        let topic = filled(action: action.text, id: id.text)
        guard !topic.hasPrefix("$"), (try? TopicName(topic)) != nil else {
            throw ValueTextError(description: "with this id it is no topic that can be published to")
        }
        return topic
    }

    private func filled(action: String, id: String) -> String {
        levels.map { level in
            switch level {
            case .text(let text): text
            case .action: action
            case .id: id
            }
        }.joined(separator: "/")
    }
}
