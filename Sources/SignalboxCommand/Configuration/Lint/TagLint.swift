import SignalboxCore
import WebSocketChat

/// Warns about plugins that broadcast to a tag that no connection can have. Their messages are handled, although no
/// client ever receives them.
struct TagLint {
    /// The tags that the connections of a source can have.
    private struct Tags {
        var known: Set<String>
        /// Whether the body of a message can name any tag to join.
        var isOpen = false
    }

    private let configuration: RunConfiguration
    private let locations: ConfigurationLocations
    private let routes: RouteIndex
    private let rules: RuleIndex
    /// The chats and feeds.
    private var tags: [SourceName: Tags] = [:]

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
            case .chat(let chat): tags[source.name] = Tags(known: chat.server.tags)
            case .feed: tags[source.name] = Tags(known: [])
            default: break
            }
        }
        addJoinedTags()
    }

    /// Adds a warning for each plugin whose tag no connection can have.
    func run() {
        for plugin in configuration.plugins {
            guard case .broadcast(let target, let tag?) = plugin.use else { continue }
            let receivers = target.map { [$0] } ?? callers(of: plugin)
            let found = receivers.compactMap { tags[$0] }
            guard let receiver = receivers.first, !found.contains(where: { $0.isOpen || $0.known.contains(tag) })
            else { continue }
            warn(plugin, of: tag, receiver, known: found.reduce(into: []) { $0.formUnion($1.known) })
        }
    }

    private func warn(_ plugin: PluginSection, of tag: String, _ receiver: SourceName, known: Set<String>) {
        let isChat = configuration.sources.contains { $0.name == receiver && $0.kind.chat != nil }
        let start = isChat ? "give the chat 'tags: [\(tag)]', or add" : "add"
        let advice = "\(start) a plugin with 'use: join' whose 'from' admits '\(receiver)'"
        let nearest = NameSuggestion.nearest(to: tag, among: known.sorted())
        let question = nearest.map { "; did you mean '\($0)'?" } ?? ""
        locations.tags[plugin.action]?.warn(
            "no connection of '\(receiver)' has the tag '\(tag)', so its messages reach no one\(question); \(advice)",
            .tagWithoutConnection,
            suggestion: nearest,
            advice: advice
        )
    }

    private mutating func addJoinedTags() {
        for plugin in configuration.plugins {
            guard case .join(let tag) = plugin.use else { continue }
            for source in callers(of: plugin) {
                if let tag { tags[source]?.known.insert(tag) } else { tags[source]?.isOpen = true }
            }
        }
    }

    /// Returns the chats and feeds whose messages can reach the plugin, ordered by name.
    private func callers(of plugin: PluginSection) -> [SourceName] {
        let admissible = plugin.from.reduce(into: Set<SourceName>()) { $0.formUnion($1.admissible ?? Set(tags.keys)) }
        let callers = admissible.filter { source in
            tags[source] != nil
                && routes.contains(plugin.action, from: [source]) {
                    rules.verdict(on: $0, of: plugin.action, for: plugin.action) > .never
                }
        }
        return callers.sorted { $0.text < $1.text }
    }
}
