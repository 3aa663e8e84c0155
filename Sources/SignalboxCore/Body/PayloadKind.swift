/// How the bytes of a message become a body: these three, and no more. An empty payload is `null` in each kind.
public enum PayloadKind: String, Sendable, Hashable, CaseIterable {
    /// JSON by RFC 8259, read strictly.
    case json
    /// UTF-8 text, which decodes as `String`.
    case text
    /// Any bytes, which decode as ``Bytes``.
    case bytes
}
