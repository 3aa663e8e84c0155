/// A rule that decides which origins may call a plugin. Every plugin is registered with a rule; there is no default.
///
/// A rule depends only on the origin. Rules about an adapter's facts belong to the adapter's module.
///
/// An ``UntrustedOrigin`` is allowed only by a rule that names it. ``source(_:)`` names its source, a rule made by
/// ``init(_:naming:permits:)`` names what it permits, and a composed rule names what any part names.
public struct AccessRule: Sendable, CustomStringConvertible {
    /// A description of the rule for errors and explanations.
    public let description: String
    let permits: @Sendable (Origin) -> Bool
    /// Whether the rule permits and names the origin. Decides alone for an origin that must be named.
    let permitsByName: @Sendable (Origin) -> Bool
    /// How the rule is composed. ``allows(_:)`` does not use it.
    let connective: AccessConnective
    let parts: [AccessRule]

    /// Creates a rule about origins of any kind.
    ///
    /// The rule names no origin, because a closure may permit an origin or merely exclude others. On its own it never
    /// allows an ``UntrustedOrigin``. Combined with a rule that names the origin, inside ``all(_:)``, it narrows that
    /// rule. Use ``init(_:naming:permits:)`` to allow such origins.
    ///
    /// - Parameters:
    ///   - description: A description of the rule, such as `lines of orders.txt`.
    ///   - permits: A closure called often and on any thread. Its result must depend only on the origin.
    public init(_ description: String, permits: @escaping @Sendable (Origin) -> Bool) {
        self.init(description, permits: permits, permitsByName: { _ in false })
    }

    /// Creates a rule about one adapter's facts. It names what it permits, even an ``UntrustedOrigin``. It never allows
    /// origins with other facts.
    ///
    /// - Parameters:
    ///   - description: A description of the rule, such as `link of scheme myapp`.
    ///   - facts: The type of the facts.
    ///   - permits: A closure called with an origin's source and facts, often and on any thread. Its result must depend
    ///     only on them, and it must check for what is trusted.
    public init<Facts: OriginFacts>(
        _ description: String,
        naming facts: Facts.Type,
        permits: @escaping @Sendable (SourceName, Facts) -> Bool
    ) {
        let named: @Sendable (Origin) -> Bool = { origin in
            guard let facts = origin.facts as? Facts else { return false }
            return permits(origin.source, facts)
        }
        self.init(description, permits: named, permitsByName: named)
    }

    package init(
        _ description: String,
        permits: @escaping @Sendable (Origin) -> Bool,
        permitsByName: @escaping @Sendable (Origin) -> Bool
    ) {
        self.init(description, .none, of: [], permits: permits, permitsByName: permitsByName)
    }

    private init(
        _ description: String,
        _ connective: AccessConnective,
        of parts: [AccessRule],
        permits: @escaping @Sendable (Origin) -> Bool,
        permitsByName: @escaping @Sendable (Origin) -> Bool
    ) {
        self.description = description
        self.connective = connective
        self.parts = parts
        self.permits = permits
        self.permitsByName = permitsByName
    }

    /// Returns whether an arrival from this origin may call the plugin.
    public func allows(_ origin: Origin) -> Bool {
        origin.mustBeNamed ? permitsByName(origin) : permits(origin)
    }

    /// Returns a rule that allows every arrival of one configured source.
    public static func source(_ name: SourceName) -> AccessRule {
        let isSource: @Sendable (Origin) -> Bool = { $0.source == name }
        return AccessRule("source \(name)", permits: isSource, permitsByName: isSource)
    }

    /// Returns a rule that allows an origin if at least one of `rules` does. An empty list allows none.
    public static func any(_ rules: [AccessRule]) -> AccessRule {
        let (permits, names) = (rules.map(\.permits), rules.map(\.permitsByName))
        return AccessRule(
            "any of (\(list(rules)))",
            .any,
            of: rules,
            permits: { origin in permits.contains { $0(origin) } },
            permitsByName: { origin in names.contains { $0(origin) } }
        )
    }

    /// Returns a rule that allows an origin if all of `rules` do. An empty list allows none.
    ///
    /// An ``UntrustedOrigin`` is allowed if at least one rule names it and no other rule excludes it.
    public static func all(_ rules: [AccessRule]) -> AccessRule {
        let (permits, names) = (rules.map(\.permits), rules.map(\.permitsByName))
        let permitsAll: @Sendable (Origin) -> Bool = { origin in
            !permits.isEmpty && permits.allSatisfy { $0(origin) }
        }
        return AccessRule(
            "all of (\(list(rules)))",
            .all,
            of: rules,
            permits: permitsAll,
            permitsByName: { origin in permitsAll(origin) && names.contains { $0(origin) } }
        )
    }

    /// Returns a rule that allows an origin if `rule` does not. It names no origin, so it never allows an
    /// ``UntrustedOrigin``.
    ///
    /// To allow such an origin except where `rule` holds, put this rule and one that names the origin in ``all(_:)``.
    public static func not(_ rule: AccessRule) -> AccessRule {
        let permits = rule.permits
        return AccessRule("not (\(rule))", permits: { !permits($0) }, permitsByName: { _ in false })
    }

    private static func list(_ rules: [AccessRule]) -> String {
        rules.map(\.description).joined(separator: "; ")
    }
}

extension AccessRule {
    /// Creates a rule about one adapter's facts, optionally limited to one source, which its description then includes.
    /// It names what it permits, as ``init(_:naming:permits:)`` does.
    ///
    /// - Parameters:
    ///   - description: A description of the rule, without its source.
    ///   - facts: The type of the facts.
    ///   - source: The required source, or `nil` for every source with such facts.
    ///   - permits: A closure that checks the facts.
    package init<Facts: OriginFacts>(
        _ description: String,
        naming facts: Facts.Type,
        of source: SourceName?,
        permits: @escaping @Sendable (Facts) -> Bool
    ) {
        let suffix = source.map { " of source \($0)" } ?? ""
        self.init(description + suffix, naming: facts) { from, facts in
            (source == nil || from == source) && permits(facts)
        }
    }
}

/// How a rule combines its parts. Used to find the part that decided.
enum AccessConnective: Sendable {
    /// The rule has no parts.
    case none
    case any
    case all
}

/// An access rule's decision about one origin, with the part of the rule that decided.
public struct AccessDecision: Sendable, Hashable, Encodable, CustomStringConvertible {
    /// Whether an arrival from the origin may call the plugin.
    public let isAllowed: Bool
    /// The description of the part of the rule that decided.
    ///
    /// For `any` it is the first part that allows, for `all` the first that denies. If no single part decided, such as
    /// when no part allows, it is the composed rule itself.
    public let decidedBy: String
    /// Whether access was denied only because the origin is an ``UntrustedOrigin`` and ``decidedBy`` does not name it.
    public let lacksName: Bool

    /// The decision in one sentence, such as `refused by source push`.
    public var description: String {
        guard !isAllowed else { return "allowed by \(decidedBy)" }
        let reason = lacksName ? ", which does not name this untrusted origin" : ""
        return "refused by \(decidedBy)\(reason)"
    }
}

extension AccessRule {
    /// Returns the decision of ``allows(_:)`` with its reason. Slower, so use it for explanations only.
    public func decision(for origin: Origin) -> AccessDecision {
        decision(for: origin, byName: origin.mustBeNamed)
    }

    /// - Parameter byName: Whether to allow only what the rule names.
    private func decision(for origin: Origin, byName: Bool) -> AccessDecision {
        let isAllowed = isAllowed(origin, byName)
        if connective != .none, parts.count == 1 { return parts[0].decision(for: origin, byName: byName) }
        switch connective {
        case .none:
            return decided(isAllowed, lacksName: byName && permits(origin))
        case .any:
            if let first = parts.first(where: { $0.isAllowed(origin, byName) }) {
                return first.decision(for: origin, byName: byName)
            }
            return decided(false, lacksName: byName && parts.contains { $0.permits(origin) })
        case .all:
            if let first = parts.first(where: { !$0.permits(origin) }) {
                return first.decision(for: origin, byName: false)
            }
            return decided(isAllowed, lacksName: byName && !parts.isEmpty)
        }
    }

    private func isAllowed(_ origin: Origin, _ byName: Bool) -> Bool {
        byName ? permitsByName(origin) : permits(origin)
    }

    private func decided(_ isAllowed: Bool, lacksName: Bool) -> AccessDecision {
        AccessDecision(isAllowed: isAllowed, decidedBy: description, lacksName: !isAllowed && lacksName)
    }
}
