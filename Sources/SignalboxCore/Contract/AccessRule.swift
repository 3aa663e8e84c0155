/// A rule that decides which origins may call a plugin. Every plugin is registered with a rule; there is no default.
///
/// A rule depends only on the origin. Rules about an adapter's facts belong to the adapter's module.
///
/// An ``UntrustedOrigin`` is allowed only by a rule that names it. ``source(_:)`` names its source, a rule made by
/// ``init(_:naming:permits:)`` names what it permits, and a composed rule names what any part names.
public struct AccessRule: Sendable, CustomStringConvertible {
    /// A description of the rule for errors and explanations.
    public let description: String
    private let form: Form

    private indirect enum Form: Sendable {
        /// The closure returns whether the rule permits an origin. The flag is whether the rule names what it permits.
        case own(@Sendable (Origin) -> Bool, byName: Bool)
        case any([AccessRule])
        case all([AccessRule])
        case not(AccessRule)
    }

    private init(_ description: String, _ form: Form) {
        self.description = description
        self.form = form
    }

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
        self.init(description, .own(permits, byName: false))
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
        self.init(description, .own(named, byName: true))
    }

    /// Returns a rule about origins of any kind. It names what it permits, even an ``UntrustedOrigin``.
    package static func named(
        _ description: String,
        permits: @escaping @Sendable (Origin) -> Bool
    ) -> AccessRule {
        AccessRule(description, .own(permits, byName: true))
    }

    /// Returns whether an arrival from this origin may call the plugin.
    public func allows(_ origin: Origin) -> Bool {
        allows(origin, byName: origin.mustBeNamed)
    }

    /// - Parameter byName: Whether to allow only what the rule names.
    private func allows(_ origin: Origin, byName: Bool) -> Bool {
        switch form {
        case .own(let permits, let isByName): (isByName || !byName) && permits(origin)
        case .any(let rules): rules.contains { $0.allows(origin, byName: byName) }
        case .all(let rules):
            !rules.isEmpty && rules.allSatisfy { $0.allows(origin, byName: false) }
                && (!byName || rules.contains { $0.allows(origin, byName: true) })
        case .not(let rule): !byName && !rule.allows(origin, byName: false)
        }
    }

    /// Returns a rule that allows every arrival of one configured source.
    public static func source(_ name: SourceName) -> AccessRule {
        named("source \(name)") { $0.source == name }
    }

    /// Returns a rule that allows an origin if at least one of `rules` does. An empty list allows none.
    public static func any(_ rules: [AccessRule]) -> AccessRule {
        AccessRule("any of (\(list(rules)))", .any(rules))
    }

    /// Returns a rule that allows an origin if all of `rules` do. An empty list allows none.
    ///
    /// An ``UntrustedOrigin`` is allowed if at least one rule names it and no other rule excludes it.
    public static func all(_ rules: [AccessRule]) -> AccessRule {
        AccessRule("all of (\(list(rules)))", .all(rules))
    }

    /// Returns a rule that allows an origin if `rule` does not. It names no origin, so it never allows an
    /// ``UntrustedOrigin``.
    ///
    /// To allow such an origin except where `rule` holds, put this rule and one that names the origin in ``all(_:)``.
    public static func not(_ rule: AccessRule) -> AccessRule {
        AccessRule("not (\(rule))", .not(rule))
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
        switch form {
        case .any(let rules) where rules.count == 1, .all(let rules) where rules.count == 1:
            return rules[0].decision(for: origin, byName: byName)
        case .any(let rules):
            if let first = rules.first(where: { $0.allows(origin, byName: byName) }) {
                return first.decision(for: origin, byName: byName)
            }
        case .all(let rules):
            if let first = rules.first(where: { !$0.allows(origin, byName: false) }) {
                return first.decision(for: origin, byName: false)
            }
        case .own, .not: break
        }
        let isAllowed = allows(origin, byName: byName)
        let lacksName = byName && !isAllowed && allows(origin, byName: false)
        return AccessDecision(isAllowed: isAllowed, decidedBy: description, lacksName: lacksName)
    }
}
