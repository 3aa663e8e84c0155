import AppScheme
import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// Checks a valid configuration as a whole. Warns about settings that have no effect or are probably mistakes.
struct ConfigurationLint {
    private let configuration: RunConfiguration
    private let locations: ConfigurationLocations
    private let routes: [InboundRoute]

    /// - Parameters:
    ///   - configuration: A configuration without errors.
    ///   - locations: Where the parts of the configuration are in the file.
    init(configuration: RunConfiguration, locations: ConfigurationLocations) {
        self.configuration = configuration
        self.locations = locations
        routes = InboundRoute.all(into: configuration)
    }

    /// Adds an error for each fixed action whose plugin never receives it. The messages of such a topic, route or frame
    /// are dead letters, whatever they contain.
    func findDeadLetters() {
        for action in locations.actions {
            guard let source = action.source,
                let plugin = configuration.plugins.first(where: { $0.action == action.name })
            else { continue }
            let routes = routes.filter {
                $0.source == source && $0.action == action.name && $0.pattern == action.pattern
            }
            guard !routes.isEmpty, routes.allSatisfy({ plugin.verdict(on: $0, for: action.name) == .never }) else {
                continue
            }
            action.value.reportError(
                "all these messages are rejected, because the plugin '\(action.name)' admits none of them; "
                    + "add '\(source)' to its 'from', or name another action",
                .deadLetterRoute,
                advice: "add { source: \(source) } to the 'from' of '\(action.name)'"
            )
        }
    }

    /// Adds a warning for each likely mistake.
    func run() {
        for source in configuration.sources {
            check(source)
            checkIDs(of: source)
        }
        for plugin in configuration.plugins { check(plugin) }
        let known = Set(configuration.plugins.map(\.action))
        for action in locations.actions where !known.contains(action.name) {
            action.value.warn(
                "no plugin has the action '\(action.name)', so its messages are \(result(for: action.source))",
                .actionWithoutPlugin,
                suggestion: NameSuggestion.nearest(to: action.name.text, among: known.map(\.text))
            )
        }
    }

    /// Says how the messages of a source end if their action has no plugin.
    private func result(for source: SourceName?) -> String {
        let hold = configuration.sources.first { $0.name == source }?.hold
        guard let hold else { return "rejected" }
        return "held for \(DurationText.text(hold.time)) and then rejected, unless a reload adds one"
    }

    private func check(_ source: SourceSection) {
        let isAllowed = configuration.plugins.contains { plugin in
            routes.contains { $0.source == source.name && plugin.verdict(on: $0, for: nil) > .never }
        }
        guard !isAllowed else { return }
        locations.sources[source.name]?.warn(
            "no plugin's 'from' admits messages of '\(source.name)', so all of them are rejected",
            .sourceWithoutRule,
            advice: "add { source: \(source.name) } to the 'from' of a plugin"
        )
    }

    /// Warns about ids that publishers choose by their topics. A publisher that always uses the same topic gives
    /// different messages the same id, so all but the first are rejected. A source that says how to deduplicate does so
    /// deliberately.
    private func checkIDs(of source: SourceSection) {
        guard let mqtt = source.kind.mqtt, !locations.deduplicated.contains(source.name) else { return }
        let captures = mqtt.allTopics.map(\.pattern).filter { $0.captureNames.contains("id") }
        guard let pattern = captures.first else { return }
        let advice = "rename {id}, for example to {device}, or write deduplication: automatic if each id is unique"
        locations.sources[source.name]?.warn(
            "publishers choose the {id} of '\(pattern.text.prefix(200))': if one sends the same id with another body, "
                + "the message is rejected as idConflict; rename the capture, for example to {device}, so that it is "
                + "only a member of the body; if each message has its own id, write 'deduplication: automatic' for the "
                + "source",
            .sharedID,
            advice: advice
        )
    }

    /// Warns about a plugin that publishes to topics that the same source subscribes to, because this creates an
    /// endless loop.
    private func checkForLoop(_ plugin: PluginSection, _ naming: [InboundRoute]) {
        guard case .publish(let section) = plugin.use, let filter = section.topic.filter else { return }
        let target = TopicShape(filter)
        let isLoop = naming.contains { route in
            guard route.source == section.source, plugin.verdict(on: route, for: plugin.action) > .never else {
                return false
            }
            return route.shape(of: plugin.action).map { target.overlaps($0) } ?? false
        }
        guard isLoop else { return }
        locations.plugins[plugin.action]?.warn(
            "it publishes to topics that '\(section.source)' subscribes to, so each message loops endlessly; "
                + "publish to other topics",
            .publishLoop
        )
    }

    private func check(_ plugin: PluginSection) {
        let naming = routes.filter { $0.canName(plugin.action) }
        guard naming.contains(where: { plugin.verdict(on: $0, for: plugin.action) > .never }) else {
            let isAllowed = routes.contains { plugin.verdict(on: $0, for: nil) > .never }
            let reason =
                isAllowed
                ? "the messages that its 'from' admits never have the action '\(plugin.action)'"
                : "its 'from' admits no message of any source; compare its topics with the source's patterns"
            locations.plugins[plugin.action]?.warn("never called: \(reason)", .unreachablePlugin)
            return
        }
        checkForLoop(plugin, naming)
        for (rule, value) in zip(plugin.from, locations.rules[plugin.action] ?? []) {
            guard naming.allSatisfy({ rule.verdict(on: $0, for: plugin.action) == .never }) else { continue }
            value.warn(
                "this rule admits no message with the action '\(plugin.action)'; remove or correct it",
                .emptyRule
            )
        }
    }
}

extension PluginSection {
    fileprivate func verdict(on route: InboundRoute, for action: ActionName?) -> RuleVerdict {
        from.map { $0.verdict(on: route, for: action) }.max() ?? .never
    }
}

/// A way for messages to reach the program: a topic, a link route, a page, a WebSocket source, or the program itself.
struct InboundRoute {
    enum Kind {
        case topic(TopicPattern)
        /// Links that match a route or go to the fallback.
        case links(LinkFacts)
        case page
        /// Whether the feed uses TLS, or `nil` if its URL is not read.
        case feed(isSecure: Bool?)
        case chat(WebSocketServerConfiguration)
        /// Events about the connection to a broker, such as a lost session, or messages from the program itself.
        case other
    }

    let source: SourceName
    let kind: Kind
    /// The pattern of the topic or the link route, or `nil` if the route has none.
    var pattern: String?
    /// The action of every message on this route, or `nil` if the sender names the action.
    var action: ActionName?
    /// Whether the sender cannot name any action that a plugin could have.
    var namesNothing = false

    /// Returns whether messages on this route can have the action.
    func canName(_ action: ActionName) -> Bool {
        if let fixed = self.action { return fixed == action }
        // A peer cannot name an internal action.
        return !namesNothing && ![.chatConnected, .chatClosed, .pushSessionLost].contains(action)
    }

    /// Returns the topics that messages with this action can have on this route. If the action is `nil`, the result
    /// covers all messages on the route.
    func shape(of action: ActionName?) -> TopicShape? {
        if case .topic(let pattern) = kind { TopicShape(pattern, action: action) } else { nil }
    }

    /// Returns every route by which messages reach a program with these sources.
    static func all(into configuration: RunConfiguration) -> [InboundRoute] {
        configuration.sources.flatMap(routes) + [InboundRoute(source: SourceSection.internalName, kind: .other)]
    }

    private static func routes(of source: SourceSection) -> [InboundRoute] {
        let name = source.name
        switch source.kind {
        case .mqtt(let mqtt):
            let topics = mqtt.allTopics.map { topic in
                var route = InboundRoute(source: name, kind: .topic(topic.pattern), pattern: topic.pattern.text)
                route.action = topic.action
                route.namesNothing = isNumber(topic.pattern.text)
                return route
            }
            guard mqtt.push.announcesConnections else { return topics }
            return topics + [InboundRoute(source: name, kind: .other, action: .pushSessionLost)]
        case .script: return [InboundRoute(source: name, kind: .page)]
        case .links(let links): return routes(of: links.routes, from: name)
        case .feed(let feed):
            return actions(of: feed.frames, announcesConnections: feed.announcesConnections).map {
                InboundRoute(source: name, kind: .feed(isSecure: feed.isURLRead ? feed.url.isSecure : nil), action: $0)
            }
        case .chat(let chat):
            return actions(of: chat.server.frames, announcesConnections: chat.server.announcesConnections).map {
                InboundRoute(source: name, kind: .chat(chat.server), action: $0)
            }
        }
    }

    private static func actions(of frames: WebSocketFrames, announcesConnections: Bool) -> [ActionName?] {
        var actions: [ActionName?] = if case .action(let action, _) = frames.text { [action] } else { [nil] }
        if let action = frames.binary { actions.append(action) }
        return actions + (announcesConnections ? [.chatConnected, .chatClosed] : [])
    }

    private static func routes(of links: AppRoutes, from source: SourceName) -> [InboundRoute] {
        let routes = links.routes.compactMap { link -> InboundRoute? in
            guard let facts = link.facts else { return nil }
            var route = InboundRoute(source: source, kind: .links(facts), pattern: link.pattern.text)
            route.action = link.action
            route.namesNothing = isNumber(link.pattern.text)
            return route
        }
        guard let fallback = links.fallback else { return routes }
        return routes + links.targets.map { InboundRoute(source: source, kind: .links($0), action: fallback) }
    }

    /// Returns whether the `{action}` capture only accepts integers. An action's name is never an integer.
    private static func isNumber(_ pattern: String) -> Bool { pattern.contains("{action:int}") }
}

/// What a rule decides about the messages on a route, as far as this is known before a message arrives. Later cases
/// allow more.
enum RuleVerdict: Comparable {
    case never
    /// The verdict depends on the message.
    case sometimes
    case always

    /// The verdict of the negated rule.
    var negated: RuleVerdict {
        switch self {
        case .never: .always
        case .sometimes: .sometimes
        case .always: .never
        }
    }
}

extension AccessSection {
    /// Returns the rule's verdict on messages that arrive by this route.
    ///
    /// - Parameter action: The action of the messages, or `nil` for messages with any action.
    func verdict(on route: InboundRoute, for action: ActionName?) -> RuleVerdict {
        let verdict = verdicts(on: route, action)
        // A rule only allows a link if it names the link (see `UntrustedOrigin`).
        if case .links = route.kind { return verdict.named }
        return verdict.permits
    }

    private func verdicts(on route: InboundRoute, _ action: ActionName?) -> (permits: RuleVerdict, named: RuleVerdict) {
        switch self {
        case .origin(let source, let conditions):
            let met = conditions.map { $0.verdict(on: route, action) }.min() ?? .always
            let verdict = source == route.source ? met : .never
            return (verdict, verdict)
        case .any(let rules):
            let verdicts = rules.map { $0.verdicts(on: route, action) }
            return (verdicts.map(\.permits).max() ?? .never, verdicts.map(\.named).max() ?? .never)
        case .all(let rules):
            let verdicts = rules.map { $0.verdicts(on: route, action) }
            let permits = verdicts.map(\.permits).min() ?? .never
            return (permits, min(permits, verdicts.map(\.named).max() ?? .never))
        case .not(let rule): return (rule.verdicts(on: route, action).permits.negated, .never)
        }
    }
}

extension AccessSection.Condition {
    fileprivate func verdict(on route: InboundRoute, _ action: ActionName?) -> RuleVerdict {
        switch (self, route.kind) {
        case (.topic(let topic), .topic(let pattern)):
            let (wanted, shape) = (TopicShape(topic), TopicShape(pattern, action: action))
            guard wanted.overlaps(shape) else { return .never }
            return wanted.covers(shape) ? .always : .sometimes
        case (.qos, .topic), (.retained, .topic): return .sometimes
        case (.mainFrame, .page): return .always
        case (.scheme(let scheme), .links(let facts)):
            return facts.universalHost == nil && facts.scheme == scheme ? .always : .never
        case (.host(let host), .links(let facts)): return facts.universalHost == host ? .always : .never
        case (.tls(let tls), .feed(let isSecure)):
            guard let isSecure else { return .sometimes }
            return tls == isSecure ? .always : .never
        // If the server has principals, every client that it accepts is one of them.
        case (.authenticated(let authenticated), .chat(let server)):
            return authenticated == server.principals.isEmpty ? .never : .always
        case (.principal(let name), .chat(let server)):
            guard server.principals.contains(where: { $0.name == name }) else { return .never }
            return server.principals.count == 1 ? .always : .sometimes
        case (.client(let origin), .chat(let server)): return server.origins.contains(origin) ? .sometimes : .never
        default: return .never
        }
    }
}
