import MQTTPush
import SignalboxCore

/// Looks at what a configuration says as a whole: whether what is right by itself comes to anything.
struct ConfigurationReview {
    private let configuration: RunConfiguration
    private let places: ConfigurationPlaces
    private let ways: [MessageWay]

    /// - Parameters:
    ///   - configuration: one without mistakes.
    ///   - places: where its parts stand.
    init(configuration: RunConfiguration, places: ConfigurationPlaces) {
        self.configuration = configuration
        self.places = places
        ways = MessageWay.all(into: configuration)
    }

    /// Notes all doubts.
    func tell() {
        for source in configuration.sources { tell(of: source) }
        for plugin in configuration.plugins { tell(of: plugin) }
        let known = Set(configuration.plugins.map(\.action))
        for (name, value) in places.actions where !known.contains(name) {
            let nearest = NameSuggestion.nearest(to: name.text, among: known.map(\.text))
            value.warn(
                "no plugin has the action '\(name)', so all of it is rejected",
                .actionWithoutPlugin,
                suggestion: nearest
            )
        }
    }

    private func tell(of source: SourceSection) {
        let isLetIn = configuration.plugins.contains { plugin in
            ways.contains { $0.source == source.name && plugin.answer(to: $0, of: nil) > .never }
        }
        guard !isLetIn else { return }
        places.sources[source.name]?.warn(
            "no plugin's 'from' lets anything of '\(source.name)' in, so all of it is rejected",
            .sourceWithoutRule,
            suggestion: "{ source: \(source.name) }"
        )
    }

    /// What a plugin publishes to topics of its own source comes back to it, for ever.
    private func tellOfLoop(_ plugin: PluginSection, _ naming: [MessageWay]) {
        guard case .publish(let section) = plugin.use, let filter = section.topic.filter else { return }
        let target = TopicShape(filter)
        let isLoop = naming.contains { way in
            guard way.source == section.source, plugin.answer(to: way, of: plugin.action) > .never else { return false }
            return way.shape(of: plugin.action).map { target.meets($0) } ?? false
        }
        guard isLoop else { return }
        places.plugins[plugin.action]?.warn(
            "it publishes to topics that '\(section.source)' subscribes to, so that what it publishes comes back to it "
                + "again and again; publish to other topics",
            .publishLoop
        )
    }

    private func tell(of plugin: PluginSection) {
        let naming = ways.filter { $0.canName(plugin.action) }
        guard naming.contains(where: { plugin.answer(to: $0, of: plugin.action) > .never }) else {
            let isAllowed = ways.contains { plugin.answer(to: $0, of: nil) > .never }
            let reason =
                isAllowed
                ? "what its 'from' lets in is never the action '\(plugin.action)'"
                : "its 'from' lets in nothing that a source brings: compare topics with the source's patterns"
            places.plugins[plugin.action]?.warn("never called: \(reason)", .unreachablePlugin)
            return
        }
        tellOfLoop(plugin, naming)
        for (rule, value) in zip(plugin.from, places.rules[plugin.action] ?? []) {
            guard naming.allSatisfy({ rule.answer(to: $0, of: plugin.action) == .never }) else { continue }
            value.warn(
                "this rule lets in nothing that a source brings as '\(plugin.action)'; leave it out, or correct it",
                .emptyRule
            )
        }
    }
}

extension PluginSection {
    fileprivate func answer(to way: MessageWay, of action: ActionName?) -> RuleAnswer {
        from.map { $0.answer(to: way, of: action) }.max() ?? .never
    }
}
