/// Which origins may call a plugin. Nothing is allowed by default: a plugin names its rule when it is registered.
///
/// A rule looks at the origin and at nothing else. Rules about an adapter's facts are made in the adapter's module.
///
/// An origin with ``LeastTrustedFacts`` is allowed only by a rule that names it. ``source(_:)`` and the rules of
/// adapters name what they allow; a composed rule names what one of its parts names.
public struct AccessRule: Sendable, CustomStringConvertible {
    /// The rule in words, as shown in errors and explanations.
    public let description: String
    private let permits: @Sendable (Origin) -> Bool
    /// What is permitted and named: for an origin that must be named, this alone counts.
    private let permitsByName: @Sendable (Origin) -> Bool

    /// A rule of an adapter.
    ///
    /// - Parameters:
    ///   - description: the rule in words, such as `topic push/+/loading`.
    ///   - permits: called on any thread, often; its answer must depend on the origin alone. What it permits it names,
    ///     so it is to ask for what it trusts and not only exclude what it does not.
    public init(_ description: String, permits: @escaping @Sendable (Origin) -> Bool) {
        self.init(description, permits: permits, permitsByName: permits)
    }

    private init(
        _ description: String,
        permits: @escaping @Sendable (Origin) -> Bool,
        permitsByName: @escaping @Sendable (Origin) -> Bool
    ) {
        self.description = description
        self.permits = permits
        self.permitsByName = permitsByName
    }

    /// Whether an arrival from this origin may call the plugin.
    public func allows(_ origin: Origin) -> Bool {
        origin.mustBeNamed ? permitsByName(origin) : permits(origin)
    }

    /// Every arrival of one configured source.
    public static func source(_ name: SourceName) -> AccessRule {
        AccessRule("source \(name)") { $0.source == name }
    }

    /// Allowed when at least one of the rules allows; never when there are none.
    public static func any(_ rules: [AccessRule]) -> AccessRule {
        AccessRule(
            "any of (\(list(rules)))",
            permits: { origin in rules.contains { $0.permits(origin) } },
            permitsByName: { origin in rules.contains { $0.permitsByName(origin) } }
        )
    }

    /// Allowed when each of the rules allows; never when there are none.
    ///
    /// An origin with ``LeastTrustedFacts`` is allowed when at least one of the rules names it and no other excludes
    /// it.
    public static func all(_ rules: [AccessRule]) -> AccessRule {
        let permits: @Sendable (Origin) -> Bool = { origin in
            !rules.isEmpty && rules.allSatisfy { $0.permits(origin) }
        }
        return AccessRule(
            "all of (\(list(rules)))",
            permits: permits,
            permitsByName: { origin in permits(origin) && rules.contains { $0.permitsByName(origin) } }
        )
    }

    /// Allowed when the rule does not allow; never for an origin with ``LeastTrustedFacts``, which this names none of.
    ///
    /// To allow such an origin except where a rule holds, put ``all(_:)`` around a rule that names it and this one.
    public static func not(_ rule: AccessRule) -> AccessRule {
        AccessRule("not (\(rule))", permits: { !rule.permits($0) }, permitsByName: { _ in false })
    }

    private static func list(_ rules: [AccessRule]) -> String {
        rules.map(\.description).joined(separator: "; ")
    }
}
