/// Where an arrival comes from: its source, and the facts that the adapter established about the sender.
///
/// Only the adapter sets the origin. No part of it is read from a message's content, so an ``AccessRule`` can rely on
/// it. All arrivals with the same facts, such as the same connection or topic, share one object.
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

/// Facts that an adapter establishes about where an arrival comes from, on which access rules base their decisions.
///
/// Each adapter defines its own type of facts. The core knows nothing about transports: it only carries, displays and
/// stores the facts, and identifies their type by `kind`.
public protocol OriginFacts: Sendable, Hashable, Encodable {
    /// The name that identifies the type when facts are stored and decoded, such as `push`.
    static var kind: String { get }

    /// Whether the source redelivers an arrival with these facts if the arrival is abandoned. The default is `true`.
    ///
    /// This value matters only if the source has the feature ``AdapterFeatures/redelivers``.
    var isRedelivered: Bool { get }
}

extension OriginFacts {
    /// Always `true`.
    public var isRedelivered: Bool { true }
}

/// Facts about an origin from which anyone can send, such as a link that any page or application can open.
///
/// An access rule allows such an origin only if the rule names the origin, either by its source or by these facts. A
/// rule that only excludes other origins, such as ``AccessRule/not(_:)``, does not name it.
public protocol UntrustedOrigin: OriginFacts {}

/// Facts from a source whose messages can carry trace context, for example in a header or a property.
///
/// The sender controls the trace context, so it is untrusted and the caller must validate it.
public protocol TraceCarrying: OriginFacts {
    /// Returns the message's value for a W3C Trace Context key.
    ///
    /// - Parameter key: `traceparent` or `tracestate`, in lower case.
    /// - Returns: The value as sent, or `nil` if the message has no value or more than one value for the key.
    func traceValue(forKey key: String) -> String?
}
