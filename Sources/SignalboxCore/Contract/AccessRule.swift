/// A rule that decides which origins may call a plugin.
///
/// Every plugin is registered with a rule, and there is no default. Combine rules with ``any(_:)``, ``all(_:)`` and
/// ``not(_:)``:
///
/// ```swift
/// let rule: AccessRule = .any([.source("push"), .source("chat")])
/// ```
///
/// A rule's result depends only on the origin. The core itself provides no rules about an adapter's facts, which belong
/// in the adapter's module.
///
/// A rule allows an ``UntrustedOrigin`` only if it names that origin:
///
/// - ``source(_:)`` names every origin with that source.
/// - ``init(_:naming:permits:)`` names every origin that it permits.
/// - ``any(_:)`` and ``all(_:)`` name every origin that one of their parts names.
/// - ``not(_:)`` names no origin.
public struct AccessRule: Sendable, CustomStringConvertible {
    /// A description of the rule for errors and explanations.
    public let description: String
    private let form: Form

    private indirect enum Form: Sendable {
        /// A rule with its own closure, which returns whether the rule permits an origin. The flag indicates whether
        /// the rule names the origins that it permits.
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
    /// Such a rule names no origin, because its closure may merely exclude other origins, so the rule never allows an
    /// ``UntrustedOrigin`` by itself. To narrow a rule that names an untrusted origin, combine both rules with
    /// ``all(_:)``. To allow untrusted origins, use ``init(_:naming:permits:)`` instead.
    ///
    /// - Parameters:
    ///   - description: A description of the rule, such as `lines of orders.txt`.
    ///   - permits: A closure that returns whether the rule permits an origin. It is called frequently, on any thread,
    ///     and its result must depend only on the origin.
    public init(_ description: String, permits: @escaping @Sendable (Origin) -> Bool) {
        self.init(description, .own(permits, byName: false))
    }

    /// Creates a rule about the facts from one adapter.
    ///
    /// The rule names every origin that it permits, even an ``UntrustedOrigin``, and never allows an origin with a
    /// different type of facts.
    ///
    /// - Parameters:
    ///   - description: A description of the rule, such as `link of scheme myapp`.
    ///   - facts: The type of the facts.
    ///   - permits: A closure that returns whether the rule permits an origin with a given source and facts. It is
    ///     called frequently, on any thread, and its result must depend only on these two values. Because the rule can
    ///     allow an untrusted origin, the closure must check the facts that justify trusting it.
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

    /// Returns a rule about origins of any kind that names every origin it permits, even an ``UntrustedOrigin``.
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

    /// Returns whether the rule allows an origin.
    ///
    /// - Parameter byName: Whether to allow the origin only if the rule names it.
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

    /// Returns a rule that allows every arrival from a configured source.
    public static func source(_ name: SourceName) -> AccessRule {
        named("source \(name)") { $0.source == name }
    }

    /// Returns a rule that allows an origin if at least one of `rules` allows it. If `rules` is empty, no origin is
    /// allowed.
    public static func any(_ rules: [AccessRule]) -> AccessRule {
        AccessRule("any of (\(list(rules)))", .any(rules))
    }

    /// Returns a rule that allows an origin if all of `rules` allow it. If `rules` is empty, no origin is allowed.
    ///
    /// The combined rule allows an ``UntrustedOrigin`` if at least one of `rules` names it and no other rule excludes
    /// it.
    public static func all(_ rules: [AccessRule]) -> AccessRule {
        AccessRule("all of (\(list(rules)))", .all(rules))
    }

    /// Returns a rule that allows an origin if `rule` does not allow it.
    ///
    /// The returned rule names no origin, so it never allows an ``UntrustedOrigin``. To allow an untrusted origin
    /// unless `rule` holds for it, use ``all(_:)`` to combine the returned rule with a rule that names the origin.
    public static func not(_ rule: AccessRule) -> AccessRule {
        AccessRule("not (\(rule))", .not(rule))
    }

    private static func list(_ rules: [AccessRule]) -> String {
        rules.map(\.description).joined(separator: "; ")
    }
}

extension AccessRule {
    /// Creates a rule about the facts from one adapter, optionally limited to one source.
    ///
    /// Like a rule created with ``init(_:naming:permits:)``, the rule names every origin that it permits. If a source
    /// is required, the description includes its name.
    ///
    /// - Parameters:
    ///   - description: A description of the rule, without its source.
    ///   - facts: The type of the facts.
    ///   - source: The required source, or `nil` to accept any source with such facts.
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

/// An access rule's decision about an origin, and the part of the rule that determined it.
///
/// Use it to explain to an operator why a plugin was or was not called.
public struct AccessDecision: Sendable, Hashable, Encodable, CustomStringConvertible {
    /// Whether an arrival from the origin may call the plugin.
    public let isAllowed: Bool
    /// A description of the part of the rule that determined the decision.
    ///
    /// For `any`, this is the first part that allows the origin; for `all`, the first part that denies it. If no single
    /// part determined the decision, for example because no part of `any` allows the origin, the description is that of
    /// the composed rule itself.
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
    /// Returns the same decision as ``allows(_:)``, together with its reason. This method is slower, so use it only for
    /// explanations.
    public func decision(for origin: Origin) -> AccessDecision {
        decision(for: origin, byName: origin.mustBeNamed)
    }

    /// Returns the decision about an origin.
    ///
    /// - Parameter byName: Whether to allow the origin only if the rule names it.
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
