/// A capture's place in a pattern.
struct TopicSlot: Sendable {
    let name: String
    /// Counted from 0, in the topic: `$share/NAME` is no level of it.
    let level: Int
    /// A rest is this level and all that follow.
    let kind: CaptureKind
}
