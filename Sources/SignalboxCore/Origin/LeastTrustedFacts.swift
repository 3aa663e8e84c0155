/// Facts about an origin behind which anybody may stand, as behind a link that any page or other application can make.
///
/// An access rule must name such an origin to allow it: by its source, or by a rule about these very facts. What a rule
/// lets through only because it excludes others, as ``AccessRule/not(_:)`` does, is not named.
public protocol LeastTrustedFacts: OriginFacts {}
