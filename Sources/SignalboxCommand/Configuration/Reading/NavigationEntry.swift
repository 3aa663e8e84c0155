/// One entry of a navigation chain, as it is written.
struct NavigationEntry {
    /// Which handler it is, by the key that says so.
    enum Kind: String, CaseIterable {
        case schemes
        case hosts
        case home
        case paths
        case deepLinks = "deep_links"
        case externalBrowser = "external_browser"

        /// The handler's name when the entry gives none.
        var standardName: String {
            switch self {
            case .schemes: "scheme"
            case .hosts: "host"
            case .home: "homePage"
            case .paths: "path"
            case .deepLinks: "deepLink"
            case .externalBrowser: "externalBrowser"
            }
        }

        /// What else such an entry may say.
        fileprivate var companions: [String] {
            switch self {
            case .schemes: ["dangerous"]
            case .hosts: ["ports", "decision"]
            case .home: ["kinds"]
            case .paths: ["hosts", "kinds"]
            case .deepLinks, .externalBrowser: []
            }
        }
    }

    let kind: Kind
    /// What is behind the key of the kind.
    let value: YAMLValue
    let mapping: YAMLMapping

    /// - Returns: `nil` after a mistake.
    init?(_ entry: YAMLValue) {
        let kinds = Kind.allCases.map(\.rawValue)
        let known = MappingKeys.navigationHandler.keys
        guard let mapping = entry.mapping(.navigationHandler) else { return nil }
        // Beside paths the hosts say whose paths are meant.
        let choices = mapping.optional("paths") == nil ? kinds : kinds.filter { $0 != Kind.hosts.rawValue }
        guard let found = mapping.required(oneOf: choices, "each entry is one handler"),
            let kind = Kind(rawValue: found.key)
        else { return nil }
        self.kind = kind
        self.mapping = mapping
        value = found.value
        let allowed = [kind.rawValue, "name"] + kind.companions
        for other in mapping.entries where known.contains(other.name) && !allowed.contains(other.name) {
            let owners = Kind.allCases.filter { $0.companions.contains(other.name) }.map { "'\($0.rawValue)'" }
            other.value.complain(
                "only \(owners.joined(separator: " and ")) can have '\(other.name)'; leave it out",
                .conflictingKeys
            )
        }
    }
}
