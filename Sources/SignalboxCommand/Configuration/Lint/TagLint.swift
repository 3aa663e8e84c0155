import SignalboxCore
import WebSocketChat

/// Warns about plugins that broadcast to a tag that no connection can have. Their messages are handled, although no
/// client ever receives them.
struct TagLint {
    /// The tags that the connections of a source can have.
    private struct Tags {
        var isChat = false
        var known: Set<String> = []
        /// Whether the body of a message can name any tag to join.
        var isOpen = false
    }

    /// Sources that call a plugin, or to which it sends. Plugins with the same receivers share them, so that the tags of
    /// the receivers are collected and sorted once.
    private final class Receivers {
        /// The names of the sources, in order.
        let sources: [SourceName]
        private var union: Tags?
        private(set) lazy var sorted = union?.known.sorted() ?? []

        init(_ sources: [SourceName]) { self.sources = sources }

        /// Returns whether a connection of the sources can have the tag.
        func canHave(_ tag: String, _ tags: [SourceName: Tags]) -> Bool {
            let union = union ?? collected(tags)
            self.union = union
            return union.isOpen || union.known.contains(tag)
        }

        private func collected(_ tags: [SourceName: Tags]) -> Tags {
            let found = sources.compactMap { tags[$0] }
            return found.dropFirst().reduce(into: found.first ?? Tags()) { union, tags in
                union.known.formUnion(tags.known)
                union.isOpen = union.isOpen || tags.isOpen
            }
        }
    }

    private let configuration: RunConfiguration
    private let locations: ConfigurationLocations
    private let routes: RouteIndex
    private let rules: RuleIndex
    /// The chats and feeds.
    private let connected: Set<SourceName>
    /// The tags of each chat and feed.
    private var tags: [SourceName: Tags] = [:]
    /// The chats and feeds whose clients name the action, by the rules that admit them.
    private var naming: [[AccessSection]: Receivers] = [:]

    init(
        _ configuration: RunConfiguration,
        _ locations: ConfigurationLocations,
        _ routes: RouteIndex,
        _ rules: RuleIndex
    ) {
        self.configuration = configuration
        self.locations = locations
        self.routes = routes
        self.rules = rules
        for source in configuration.sources {
            switch source.kind {
            case .chat(let chat): tags[source.name] = Tags(isChat: true, known: chat.server.tags)
            case .feed: tags[source.name] = Tags()
            default: break
            }
        }
        connected = Set(tags.keys)
        addJoinedTags()
    }

    /// Adds a warning for each plugin whose tag no connection can have.
    mutating func run() {
        var targets: [SourceName: Receivers] = [:]
        let uses = configuration.plugins.flatMap { plugin in plugin.use.parts.map { (plugin, $0) } }
        for (plugin, use) in uses {
            guard case .broadcast(let target, let tag?) = use else { continue }
            let receivers = target.map { targets[$0] ?? Receivers([$0]) } ?? callers(of: plugin)
            if let target { targets[target] = receivers }
            guard let receiver = receivers.sources.first, !receivers.canHave(tag, tags) else { continue }
            warn(plugin, of: tag, receiver, receivers)
        }
    }

    private func warn(_ plugin: PluginSection, of tag: String, _ receiver: SourceName, _ receivers: Receivers) {
        let start = tags[receiver]?.isChat == true ? "give the chat 'tags: [\(tag)]', or add" : "add"
        let advice = "\(start) a plugin with 'use: join' whose 'from' admits '\(receiver)'"
        locations.tags[plugin.action]?.warn(
            "no connection of '\(receiver)' has the tag '\(tag)', so its messages reach no one"
                + "\(NameSuggestion.advice(for: tag, among: receivers.sorted)); \(advice)",
            .tagWithoutConnection,
            suggestion: NameSuggestion.nearest(to: tag, among: receivers.sorted),
            advice: advice
        )
    }

    private mutating func addJoinedTags() {
        let uses = configuration.plugins.flatMap { plugin in plugin.use.parts.map { (plugin, $0) } }
        for (plugin, use) in uses {
            guard case .join(let tag) = use else { continue }
            for source in callers(of: plugin).sources {
                if let tag { tags[source]?.known.insert(tag) } else { tags[source]?.isOpen = true }
            }
        }
    }

    /// Returns the chats and feeds whose messages can reach the plugin.
    private mutating func callers(of plugin: PluginSection) -> Receivers {
        let fixed = callers(of: plugin, among: routes.sources(fixedTo: plugin.action)) { $0.action != nil }
        guard !InboundRoute.internalActions.contains(plugin.action) else { return Receivers(fixed) }
        let named = naming[plugin.from] ?? Receivers(callers(of: plugin, among: connected) { $0.action == nil })
        naming[plugin.from] = named
        guard !fixed.isEmpty else { return named }
        return Receivers(Set(named.sources).union(fixed).sorted { $0.text < $1.text })
    }

    private func callers(
        of plugin: PluginSection,
        among sources: Set<SourceName>,
        on isConsidered: (InboundRoute) -> Bool
    ) -> [SourceName] {
        let admissible = rules.admissible(for: plugin.action).map(sources.intersection) ?? sources
        let callers = admissible.filter { source in
            connected.contains(source)
                && routes.contains(plugin.action, from: [source]) {
                    isConsidered($0) && rules.verdict(on: $0, of: plugin.action, for: plugin.action) > .never
                }
        }
        return callers.sorted { $0.text < $1.text }
    }
}
