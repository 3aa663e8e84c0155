/// A named piece of a URL or topic, found by a ``URLPattern`` or ``TopicPattern``.
public struct RouteCapture: Sendable {
    /// The name in the pattern's braces.
    public let name: String
    /// The text it stood for; of a URL decoded exactly once.
    ///
    /// It comes from whoever opened the URL or published the message. A text of a URL may hold a `/` that was escaped as
    /// `%2F`, and so `../` and a leading `//`, except in a rest, where each `/` is one of the URL's own: it is no name of a
    /// file. A topic's level may be empty.
    public let value: String
    /// What the pattern asked for: the value has that form.
    public let kind: CaptureKind

    package init(name: String, value: String, kind: CaptureKind = .text) {
        self.name = name
        self.value = value
        self.kind = kind
    }
}

extension RouteCapture: Hashable {
    /// Equal when name and kind are, and the bytes of the value.
    public static func == (left: RouteCapture, right: RouteCapture) -> Bool {
        left.name == right.name && left.kind == right.kind && ByteText(left.value) == ByteText(right.value)
    }

    /// Hashes name, kind and bytes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(kind)
        hasher.combine(ByteText(value))
    }
}
