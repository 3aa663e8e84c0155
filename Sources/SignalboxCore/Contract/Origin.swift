/// The origin of an arrival: its source and the facts that the adapter established about the sender.
///
/// Only the adapter sets the origin. No part of it is read from the content of a message, so an ``AccessRule`` can rely
/// on it. All arrivals with the same facts, such as the same connection or topic, share one object.
public final class Origin: Sendable {
    /// The configured source.
    public let source: SourceName
    /// The facts that the adapter established about the sender.
    public let facts: any OriginFacts
    /// Whether only an access rule that names this origin can allow it.
    package let mustBeNamed: Bool

    /// Creates an origin. An adapter creates one origin for each set of facts and shares it between arrivals.
    public init(source: SourceName, facts: any OriginFacts) {
        self.source = source
        self.facts = facts
        mustBeNamed = facts is any UntrustedOrigin
    }
}

/// Facts that an adapter establishes about the origin of an arrival. Access rules base their decisions on them.
///
/// Each adapter defines one type of facts. The core knows no transport: it only carries, displays and stores the facts,
/// and identifies their type by `kind`.
public protocol OriginFacts: Sendable, Hashable, Encodable {
    /// The name under which encoded facts are stored and decoded, such as `push`.
    static var kind: String { get }

    /// Whether the source redelivers this arrival if it is abandoned. The default is `true`.
    ///
    /// The value matters only if the source has the feature ``AdapterFeatures/redelivers``.
    var isRedelivered: Bool { get }
}

extension OriginFacts {
    /// Always `true`.
    public var isRedelivered: Bool { true }
}

/// Facts about an origin from which anyone can send, such as a link that any page or other application can open.
///
/// An access rule allows such an origin only if it names the origin, either by its source or by a rule about these
/// facts. A rule that only excludes other origins, such as ``AccessRule/not(_:)``, does not name it.
public protocol UntrustedOrigin: OriginFacts {}

/// Facts of a source whose messages can carry trace context, for example in a header or a property.
///
/// The sender controls the value of the trace context. The value is therefore untrusted, and the caller validates it.
public protocol TraceCarrying: OriginFacts {
    /// Returns the value that the message has for a W3C Trace Context key.
    ///
    /// - Parameter key: The key `traceparent` or `tracestate`, in lower case.
    /// - Returns: The value as sent, or `nil` when the message has no value for the key or more than one.
    func traceValue(forKey key: String) -> String?
}
