/// A named piece of a topic, found by a ``TopicPattern``.
public struct TopicCapture: Sendable, Hashable {
    /// The name in the pattern's braces.
    public let name: String
    /// The level it stood for, possibly empty; for `{name...}` all remaining levels with their slashes.
    ///
    /// It comes from whoever published the message: any text without U+0000, `+` and `#`.
    public let value: String

    init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}
