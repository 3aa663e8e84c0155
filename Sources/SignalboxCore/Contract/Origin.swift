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

/// Facts about an origin behind which anybody may stand, as behind a link that any page or other application can make.
///
/// An access rule must name such an origin to allow it: by its source, or by a rule about these very facts. What a rule
/// lets through only because it excludes others, as ``AccessRule/not(_:)`` does, is not named.
public protocol LeastTrustedFacts: OriginFacts {}

/// Facts of a source whose messages may say which trace they belong to, as in a header or a property.
///
/// What it answers comes from whoever sent the message and is not to be trusted; whoever asks checks the form.
public protocol TraceCarrying: OriginFacts {
    /// What the message says for a key of W3C Trace Context.
    ///
    /// - Parameter key: `traceparent` or `tracestate`, in small letters.
    /// - Returns: the value as it was sent; `nil` when the message has none, or more than one.
    func traceValue(forKey key: String) -> String?
}
