import AppScheme
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// Checks a valid configuration as a whole for settings that have no effect.
struct ConfigurationLint {
    private let configuration: RunConfiguration
    private let locations: ConfigurationLocations
    private let routes: [InboundRoute]

    /// - Parameters:
    ///   - configuration: A configuration without errors.
    ///   - locations: The positions of its parts in the file.
    init(configuration: RunConfiguration, locations: ConfigurationLocations) {
        self.configuration = configuration
        self.locations = locations
        routes = InboundRoute.all(into: configuration)
    }

    /// Adds a warning for each likely mistake.
    func run() {
        for source in configuration.sources { check(source) }
        for plugin in configuration.plugins { check(plugin) }
        let known = Set(configuration.plugins.map(\.action))
        for (name, value) in locations.actions where !known.contains(name) {
            let nearest = NameSuggestion.nearest(to: name.text, among: known.map(\.text))
            value.warn(
                "no plugin has the action '\(name)', so its messages are rejected",
                .actionWithoutPlugin,
                suggestion: nearest
            )
        }
    }

    private func check(_ source: SourceSection) {
        let isAllowed = configuration.plugins.contains { plugin in
            routes.contains { $0.source == source.name && plugin.verdict(on: $0, for: nil) > .never }
        }
        guard !isAllowed else { return }
        locations.sources[source.name]?.warn(
            "no plugin's 'from' admits messages of '\(source.name)', so all of them are rejected",
            .sourceWithoutRule,
            suggestion: "{ source: \(source.name) }"
        )
    }

    /// Warns about a plugin that publishes to topics its own source subscribes to, which creates an endless loop.
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

/// A route by which messages arrive: a topic, a link route, a page, a WebSocket source, or the program itself.
struct InboundRoute {
    enum Kind {
        case topic(MQTTTopic)
        /// Events about a broker connection, such as a lost session.
        case session
        /// Links of a route or of the fallback.
        case links(LinkFacts)
        case page
        case feed(isSecure: Bool)
        case chat(WebSocketServerConfiguration)
        case program
    }

    /// The actions that its messages can name.
    enum Naming {
        case fixed(ActionName)
        /// Any action; the sender names it.
        case sender
        /// No action that a plugin could have.
        case nothing
    }

    let source: SourceName
    let kind: Kind
    let naming: Naming

    /// Returns whether a message on this route can have the action.
    func canName(_ action: ActionName) -> Bool {
        switch naming {
        case .fixed(let name): name == action
        // Peers cannot name internal actions.
        case .sender: ![.chatConnected, .chatClosed, .pushSessionLost].contains(action)
        case .nothing: false
        }
    }

    /// Returns the topics of its messages with the action, or of all its messages if `action` is `nil`.
    func shape(of action: ActionName?) -> TopicShape? {
        guard case .topic(let topic) = kind else { return nil }
        return TopicShape(topic.pattern, action: action)
    }

    /// Returns every route into a program with these sources.
    static func all(into configuration: RunConfiguration) -> [InboundRoute] {
        configuration.sources.flatMap(routes) + [
            InboundRoute(source: SourceSection.internalName, kind: .program, naming: .sender)
        ]
    }

    private static func routes(of source: SourceSection) -> [InboundRoute] {
        switch source.kind {
        case .mqtt(let mqtt):
            mqtt.allTopics.map { InboundRoute(source: source.name, kind: .topic($0), naming: naming(of: $0)) }
                + (mqtt.push.announcesConnections
                    ? [InboundRoute(source: source.name, kind: .session, naming: .fixed(.pushSessionLost))] : [])
        case .script: [InboundRoute(source: source.name, kind: .page, naming: .sender)]
        case .links(let links): routes(of: links.routes, from: source.name)
        case .feed(let feed):
            namings(of: feed.frames, announcesConnections: feed.announcesConnections).map {
                InboundRoute(source: source.name, kind: .feed(isSecure: feed.url.isSecure), naming: $0)
            }
        case .chat(let chat):
            namings(of: chat.server.frames, announcesConnections: chat.server.announcesConnections).map {
                InboundRoute(source: source.name, kind: .chat(chat.server), naming: $0)
            }
        }
    }

    private static func namings(of frames: WebSocketFrames, announcesConnections: Bool) -> [Naming] {
        var namings: [Naming] =
            switch frames.text {
            case .envelope: [.sender]
            case .action(let action, _): [.fixed(action)]
            }
        if let action = frames.binary { namings.append(.fixed(action)) }
        if announcesConnections { namings += [.fixed(.chatConnected), .fixed(.chatClosed)] }
        return namings
    }

    private static func naming(of topic: MQTTTopic) -> Naming {
        if let action = topic.action { return .fixed(action) }
        return isNumber(topic.pattern.text) ? .nothing : .sender
    }

    private static func routes(of links: AppRoutes, from source: SourceName) -> [InboundRoute] {
        let routes = links.routes.compactMap { link -> InboundRoute? in
            let naming = link.action.map(Naming.fixed) ?? (isNumber(link.pattern.text) ? .nothing : .sender)
            return link.facts.map { InboundRoute(source: source, kind: .links($0), naming: naming) }
        }
        guard let fallback = links.fallback else { return routes }
        return routes + links.targets.map { InboundRoute(source: source, kind: .links($0), naming: .fixed(fallback)) }
    }

    /// Returns whether the action's capture accepts only integers, which are never action names.
    private static func isNumber(_ pattern: String) -> Bool { pattern.contains("{action:int}") }
}

/// The verdict of a rule on the messages of a route, as far as it is known without a message.
enum RuleVerdict: Int, Comparable {
    case never
    /// The verdict depends on the message.
    case sometimes
    case always

    static func < (left: RuleVerdict, right: RuleVerdict) -> Bool { left.rawValue < right.rawValue }

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
    /// Returns whether the rule allows messages on the route.
    ///
    /// - Parameter action: The action of the messages, or `nil` for any.
    func verdict(on route: InboundRoute, for action: ActionName?) -> RuleVerdict {
        let verdict = verdicts(on: route, action)
        // A rule must name a link to allow it: see `UntrustedOrigin`.
        if case .links = route.kind { return verdict.named }
        return verdict.permits
    }

    private func verdicts(on route: InboundRoute, _ action: ActionName?) -> (permits: RuleVerdict, named: RuleVerdict) {
        switch self {
        case .origin(let source, let part):
            let verdict = source == route.source ? part.verdict(on: route, action) : .never
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

extension AccessSection.Part {
    fileprivate func verdict(on route: InboundRoute, _ action: ActionName?) -> RuleVerdict {
        switch (self, route.kind) {
        case (.all, _): .always
        case (.push(let push), .topic): push.verdict(route.shape(of: action))
        case (.script(let script), .page): script.origin == nil ? .always : .sometimes
        case (.scheme(let scheme), .links(let facts)):
            facts.universalHost == nil && facts.scheme == scheme ? .always : .never
        case (.host(let host), .links(let facts)): facts.universalHost == host ? .always : .never
        case (.feed(let tls), .feed(let isSecure)): tls == isSecure ? .always : .never
        case (.chat(let chat), .chat(let server)): chat.verdict(server)
        default: .never
        }
    }
}

extension AccessSection.ChatPart {
    /// If the server has principals, every client is one of them.
    fileprivate func verdict(_ server: WebSocketServerConfiguration) -> RuleVerdict {
        let hasPrincipals = !server.principals.isEmpty
        if authenticated.map({ $0 != hasPrincipals }) ?? false { return .never }
        if let principal, !server.principals.contains(where: { $0.name == principal }) { return .never }
        if let origin, !server.origins.contains(origin) { return .never }
        let isOnlyPrincipal = principal == nil || server.principals.count == 1
        return isOnlyPrincipal && origin == nil ? .always : .sometimes
    }
}

extension AccessSection.PushPart {
    fileprivate func verdict(_ shape: TopicShape?) -> RuleVerdict {
        guard let topic, let shape else { return .sometimes }
        let wanted = TopicShape(topic)
        guard wanted.overlaps(shape) else { return .never }
        return wanted.covers(shape) && qos == nil && retained == nil ? .always : .sometimes
    }
}
