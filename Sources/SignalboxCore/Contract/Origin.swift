/// The origin of an arrival: its source and the adapter's facts. Set only by the adapter, never read from a message.
///
/// All arrivals with the same facts (a connection, a topic) share one object.
public final class Origin: Sendable {
    /// The configured source.
    public let source: SourceName
    /// The adapter's facts about the sender.
    public let facts: any OriginFacts
    /// Whether only an access rule that names this origin can allow it.
    package let mustBeNamed: Bool

    /// Creates an origin. An adapter creates one per set of facts and shares it between arrivals.
    public init(source: SourceName, facts: any OriginFacts) {
        self.source = source
        self.facts = facts
        mustBeNamed = facts is any UntrustedOrigin
    }
}

/// Facts that an adapter establishes about an arrival's origin. Trust is based on them.
///
/// Each adapter defines one type. The core knows no transport: it carries, displays and stores facts by `kind`.
public protocol OriginFacts: Sendable, Hashable, Encodable {
    /// The name under which encoded facts are stored and decoded, such as `push`.
    static var kind: String { get }

    /// Whether the source redelivers this arrival if it is abandoned. Relevant only if the source has the feature
    /// ``AdapterFeatures/redelivers``. Defaults to `true`.
    var isRedelivered: Bool { get }
}

extension OriginFacts {
    /// `true`.
    public var isRedelivered: Bool { true }
}

/// Facts about an origin that anyone can send from, such as a link that any page or other application can open.
///
/// An access rule must name such an origin to allow it, by its source or by a rule about these facts. A rule that only
/// excludes other origins, such as ``AccessRule/not(_:)``, does not name it.
public protocol UntrustedOrigin: OriginFacts {}

/// Facts of a source whose messages can carry trace context, for example in a header or a property.
///
/// The sender controls the value, so it is untrusted and the caller validates it.
public protocol TraceCarrying: OriginFacts {
    /// Returns the message's value for a W3C Trace Context key.
    ///
    /// - Parameter key: `traceparent` or `tracestate`, in lower case.
    /// - Returns: The value as sent, or `nil` when the message has none or more than one.
    func traceValue(forKey key: String) -> String?
}
