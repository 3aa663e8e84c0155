/// What an adapter knows about where an arrival came from: the ground on which trust rests.
///
/// One type per adapter. The core names no transport: it carries facts, shows them and stores them by `kind`.
public protocol OriginFacts: Sendable, Hashable, Encodable {
    /// The name under which encoded facts are stored and read back, such as `push`.
    static var kind: String { get }
}
