/// What an adapter knows about where an arrival came from: the ground on which trust rests.
///
/// One type per adapter. The core names no transport: it carries facts, shows them and stores them by `kind`.
public protocol OriginFacts: Sendable, Hashable, Encodable {
    /// The name under which encoded facts are stored and read back, such as `push`.
    static var kind: String { get }

    /// Whether the source redelivers this arrival when it is abandoned. Matters only if the source's features include
    /// ``AdapterFeatures/redelivers``; `true` by default.
    var isRedelivered: Bool { get }
}

extension OriginFacts {
    /// `true`.
    public var isRedelivered: Bool { true }
}
