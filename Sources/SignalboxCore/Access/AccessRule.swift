/// Which origins may call a plugin. Nothing is allowed by default: a plugin names its rule when it is registered.
///
/// A rule looks at the origin and at nothing else. Rules about an adapter's facts are made in the adapter's module.
public struct AccessRule: Sendable, CustomStringConvertible {
    /// The rule in words, as shown in errors and explanations.
    public let description: String
    private let permits: @Sendable (Origin) -> Bool

    /// A rule of an adapter.
    ///
    /// - Parameters:
    ///   - description: the rule in words, such as `topic push/+/loading`.
    ///   - permits: called on any thread, often; its answer must depend on the origin alone.
    public init(_ description: String, permits: @escaping @Sendable (Origin) -> Bool) {
        self.description = description
        self.permits = permits
    }

    /// Whether an arrival from this origin may call the plugin.
    public func allows(_ origin: Origin) -> Bool {
        permits(origin)
    }

    /// Every arrival of one configured source.
    public static func source(_ name: SourceName) -> AccessRule {
        AccessRule("source \(name)") { $0.source == name }
    }

    /// Allowed when at least one of the rules allows; never when there are none.
    public static func any(_ rules: [AccessRule]) -> AccessRule {
        AccessRule("any of (\(list(rules)))") { origin in rules.contains { $0.allows(origin) } }
    }

    /// Allowed when each of the rules allows; never when there are none.
    public static func all(_ rules: [AccessRule]) -> AccessRule {
        AccessRule("all of (\(list(rules)))") { origin in
            !rules.isEmpty && rules.allSatisfy { $0.allows(origin) }
        }
    }

    /// Allowed when the rule does not allow.
    public static func not(_ rule: AccessRule) -> AccessRule {
        AccessRule("not (\(rule))") { !rule.allows($0) }
    }

    private static func list(_ rules: [AccessRule]) -> String {
        rules.map(\.description).joined(separator: "; ")
    }
}
