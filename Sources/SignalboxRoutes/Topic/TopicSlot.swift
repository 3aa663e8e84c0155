/// A capture's place in a pattern.
struct TopicSlot: Sendable {
    let name: String
    /// Counted from 0, in the topic: `$share/NAME` is no level of it.
    let level: Int
    /// `{name...}`: this level and all that follow.
    let takesRest: Bool
}
