/// Where an arrival came from: its source and the adapter's facts. Set by the adapter alone, never read from a message.
///
/// One object is shared by all arrivals with the same facts (a connection, a topic).
public final class Origin: Sendable {
    /// The configured source.
    public let source: SourceName
    /// What the adapter knows about the sender.
    public let facts: any OriginFacts
    /// Whether only an access rule that names this origin may allow it.
    package let mustBeNamed: Bool

    /// An adapter makes one per set of facts and shares it between arrivals.
    public init(source: SourceName, facts: any OriginFacts) {
        self.source = source
        self.facts = facts
        mustBeNamed = facts is any LeastTrustedFacts
    }
}
