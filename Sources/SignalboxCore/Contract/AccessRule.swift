/// Which origins may call a plugin. Nothing is allowed by default: a plugin names its rule when it is registered.
///
/// A rule looks at the origin and at nothing else. Rules about an adapter's facts are made in the adapter's module.
///
/// An origin with ``LeastTrustedFacts`` is allowed only by a rule that names it. ``source(_:)`` names its source, a rule
/// made by ``init(_:naming:permits:)`` what it permits, and a composed rule what one of its parts names.
public struct AccessRule: Sendable, CustomStringConvertible {
    /// The rule in words, as shown in errors and explanations.
    public let description: String
    let permits: @Sendable (Origin) -> Bool
    /// What is permitted and named: for an origin that must be named, this alone counts.
    let permitsByName: @Sendable (Origin) -> Bool
    /// What it is made of; ``allows(_:)`` does not look at it.
    let connective: AccessConnective
    let parts: [AccessRule]

    /// A rule about origins of any kind.
    ///
    /// It names none, as it cannot be told whether it asks for an origin or only excludes others: by itself it never
    /// allows an origin with ``LeastTrustedFacts``. Together with a rule that names the origin, inside ``all(_:)``, it
    /// narrows what that one allows. A rule that is to allow such origins is made by ``init(_:naming:permits:)``.
    ///
    /// - Parameters:
    ///   - description: the rule in words, such as `lines of orders.txt`.
    ///   - permits: called on any thread, often; its answer must depend on the origin alone.
    public init(_ description: String, permits: @escaping @Sendable (Origin) -> Bool) {
        self.init(description, permits: permits, permitsByName: { _ in false })
    }

    /// A rule about one adapter's facts. It names what it permits, also where the facts are ``LeastTrustedFacts``;
    /// origins with other facts it never allows.
    ///
    /// - Parameters:
    ///   - description: the rule in words, such as `link of scheme myapp`.
    ///   - facts: the type of the facts.
    ///   - permits: called with source and facts of an origin, on any thread, often; its answer must depend on them
    ///     alone, and ask for what is trusted.
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

    /// Whether an arrival from this origin may call the plugin.
    public func allows(_ origin: Origin) -> Bool {
        origin.mustBeNamed ? permitsByName(origin) : permits(origin)
    }

    /// Every arrival of one configured source.
    public static func source(_ name: SourceName) -> AccessRule {
        let isSource: @Sendable (Origin) -> Bool = { $0.source == name }
        return AccessRule("source \(name)", permits: isSource, permitsByName: isSource)
    }

    /// Allowed when at least one of the rules allows; never when there are none.
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

    /// Allowed when each of the rules allows; never when there are none.
    ///
    /// An origin with ``LeastTrustedFacts`` is allowed when at least one of the rules names it and no other excludes
    /// it.
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

    /// Allowed when the rule does not allow; never for an origin with ``LeastTrustedFacts``, which this names none of.
    ///
    /// To allow such an origin except where a rule holds, put ``all(_:)`` around a rule that names it and this one.
    public static func not(_ rule: AccessRule) -> AccessRule {
        let permits = rule.permits
        return AccessRule("not (\(rule))", permits: { !permits($0) }, permitsByName: { _ in false })
    }

    private static func list(_ rules: [AccessRule]) -> String {
        rules.map(\.description).joined(separator: "; ")
    }
}

extension AccessRule {
    /// A rule about one adapter's facts, perhaps of one source alone, which its words then name. It names what it permits,
    /// as ``init(_:naming:permits:)`` does.
    ///
    /// - Parameters:
    ///   - description: the rule in words, without its source.
    ///   - facts: the type of the facts.
    ///   - source: the one source they must come through, or `nil` for every source with such facts.
    ///   - permits: what is asked of the facts.
    package init<Facts: OriginFacts>(
        _ description: String,
        naming facts: Facts.Type,
        of source: SourceName?,
        permits: @escaping @Sendable (Facts) -> Bool
    ) {
        let place = source.map { " of source \($0)" } ?? ""
        self.init(description + place, naming: facts) { from, facts in
            (source == nil || from == source) && permits(facts)
        }
    }
}

/// How a rule is made of its parts, for answers that name the part which decided.
enum AccessConnective: Sendable {
    /// The rule decides by itself.
    case none
    case any
    case all
}

/// What an access rule says about one origin, and which part of it decided.
public struct AccessAnswer: Sendable, Hashable, Encodable, CustomStringConvertible {
    /// Whether an arrival from the origin may call the plugin.
    public let isAllowed: Bool
    /// The part of the rule that decided, in its own words.
    ///
    /// Of `any` it is the first part that allows, of `all` the first that refuses; where no single part decided, as when
    /// none of several allows, it is the composed rule itself.
    public let decidedBy: String
    /// Whether it was refused only because the origin has ``LeastTrustedFacts`` and ``decidedBy`` does not name it.
    public let lacksName: Bool

    /// One sentence, such as `refused by source push`.
    public var description: String {
        guard !isAllowed else { return "allowed by \(decidedBy)" }
        let reason = lacksName ? ", which does not name an origin behind which anybody may stand" : ""
        return "refused by \(decidedBy)\(reason)"
    }
}

extension AccessRule {
    /// The same answer as ``allows(_:)``, with its reason. Slower: for explanations, not for every arrival.
    public func answer(to origin: Origin) -> AccessAnswer {
        answer(to: origin, byName: origin.mustBeNamed)
    }

    /// - Parameter byName: whether only what the rule names is allowed.
    private func answer(to origin: Origin, byName: Bool) -> AccessAnswer {
        let isAllowed = isAllowed(origin, byName)
        if connective != .none, parts.count == 1 { return parts[0].answer(to: origin, byName: byName) }
        switch connective {
        case .none:
            return decided(isAllowed, lacksName: byName && permits(origin))
        case .any:
            if let first = parts.first(where: { $0.isAllowed(origin, byName) }) {
                return first.answer(to: origin, byName: byName)
            }
            return decided(false, lacksName: byName && parts.contains { $0.permits(origin) })
        case .all:
            if let first = parts.first(where: { !$0.permits(origin) }) {
                return first.answer(to: origin, byName: false)
            }
            return decided(isAllowed, lacksName: byName && !parts.isEmpty)
        }
    }

    private func isAllowed(_ origin: Origin, _ byName: Bool) -> Bool {
        byName ? permitsByName(origin) : permits(origin)
    }

    private func decided(_ isAllowed: Bool, lacksName: Bool) -> AccessAnswer {
        AccessAnswer(isAllowed: isAllowed, decidedBy: description, lacksName: !isAllowed && lacksName)
    }
}
