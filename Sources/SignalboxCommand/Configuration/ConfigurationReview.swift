import AppScheme
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// Checks a valid configuration as a whole for settings that have no effect.
struct ConfigurationReview {
    private let configuration: RunConfiguration
    private let places: ConfigurationPlaces
    private let ways: [MessageWay]

    /// - Parameters:
    ///   - configuration: A configuration without errors.
    ///   - places: The positions of its parts in the file.
    init(configuration: RunConfiguration, places: ConfigurationPlaces) {
        self.configuration = configuration
        self.places = places
        ways = MessageWay.all(into: configuration)
    }

    /// Adds a warning for each likely mistake.
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

    /// Warns about a plugin that publishes to topics its own source subscribes to, which creates an endless loop.
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

/// A route by which messages arrive: a topic, a link route, a page, a WebSocket source, or the program itself.
struct MessageWay {
    enum Kind {
        case topic(TopicSection)
        /// Events about a broker connection, such as a lost session.
        case session
        /// Links of a route or of the fallback, by the scheme or host that a rule may name.
        case links(scheme: String?, host: String?)
        case page
        case feed(isSecure: Bool)
        case chat(ChatSection)
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
    static func all(into configuration: RunConfiguration) -> [MessageWay] {
        configuration.sources.flatMap(ways) + [
            MessageWay(source: SourceSection.internalName, kind: .program, naming: .sender)
        ]
    }

    private static func ways(of source: SourceSection) -> [MessageWay] {
        switch source.kind {
        case .mqtt(let mqtt):
            mqtt.allTopics.map { MessageWay(source: source.name, kind: .topic($0), naming: naming(of: $0)) }
                + (mqtt.announcesConnections
                    ? [MessageWay(source: source.name, kind: .session, naming: .fixed(.pushSessionLost))] : [])
        case .script: [MessageWay(source: source.name, kind: .page, naming: .sender)]
        case .links(let links): ways(of: links, from: source.name)
        case .feed(let feed):
            namings(of: feed.frames, announcesConnections: feed.announcesConnections).map {
                MessageWay(source: source.name, kind: .feed(isSecure: feed.url.isSecure), naming: $0)
            }
        case .chat(let chat):
            namings(of: chat.frames, announcesConnections: chat.announcesConnections).map {
                MessageWay(source: source.name, kind: .chat(chat), naming: $0)
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

    private static func naming(of topic: TopicSection) -> Naming {
        if let action = topic.action { return .fixed(action) }
        return isNumber(topic.pattern.text) ? .nothing : .sender
    }

    private static func ways(of links: LinksSection, from source: SourceName) -> [MessageWay] {
        var ways: [MessageWay] = []
        for route in links.list {
            let naming = route.action.map(Naming.fixed) ?? (isNumber(route.pattern.text) ? .nothing : .sender)
            ways += kinds(LinkPlaces([route])).map { MessageWay(source: source, kind: $0, naming: naming) }
        }
        guard let fallback = links.routes.fallback else { return ways }
        return ways + kinds(links.places).map { MessageWay(source: source, kind: $0, naming: .fixed(fallback)) }
    }

    private static func kinds(_ places: LinkPlaces) -> [Kind] {
        places.schemes.map { .links(scheme: $0, host: nil) } + places.hosts.map { .links(scheme: nil, host: $0) }
    }

    /// Returns whether the action's capture accepts only integers, which are never action names.
    private static func isNumber(_ pattern: String) -> Bool { pattern.contains("{action:int}") }
}

/// The verdict of a rule on the messages of a route, as far as it is known without a message.
enum RuleAnswer: Int, Comparable {
    case never
    /// The verdict depends on the message.
    case perhaps
    case always

    static func < (left: RuleAnswer, right: RuleAnswer) -> Bool { left.rawValue < right.rawValue }

    /// The verdict of the negated rule.
    var opposite: RuleAnswer {
        switch self {
        case .never: .always
        case .perhaps: .perhaps
        case .always: .never
        }
    }
}

extension AccessSection {
    /// Returns whether the rule allows messages on the route.
    ///
    /// - Parameter action: The action of the messages, or `nil` for any.
    func answer(to way: MessageWay, of action: ActionName?) -> RuleAnswer {
        let answer = answers(to: way, action)
        // A rule must name a link to allow it: see `LeastTrustedFacts`.
        if case .links = way.kind { return answer.named }
        return answer.permits
    }

    private func answers(to way: MessageWay, _ action: ActionName?) -> (permits: RuleAnswer, named: RuleAnswer) {
        switch self {
        case .origin(let source, let part):
            let answer = source == way.source ? part.answer(to: way, action) : .never
            return (answer, answer)
        case .any(let rules):
            let answers = rules.map { $0.answers(to: way, action) }
            return (answers.map(\.permits).max() ?? .never, answers.map(\.named).max() ?? .never)
        case .all(let rules):
            let answers = rules.map { $0.answers(to: way, action) }
            let permits = answers.map(\.permits).min() ?? .never
            return (permits, min(permits, answers.map(\.named).max() ?? .never))
        case .not(let rule): return (rule.answers(to: way, action).permits.opposite, .never)
        }
    }
}

extension AccessSection.Part {
    fileprivate func answer(to way: MessageWay, _ action: ActionName?) -> RuleAnswer {
        switch (self, way.kind) {
        case (.all, _): .always
        case (.push(let push), .topic): push.answer(way.shape(of: action))
        case (.script(let script), .page): script.origin == nil ? .always : .perhaps
        case (.scheme(let scheme), .links(let found, _)): scheme == found ? .always : .never
        case (.host(let host), .links(_, let found)): host == found ? .always : .never
        case (.feed(let tls), .feed(let isSecure)): tls == isSecure ? .always : .never
        case (.chat(let chat), .chat(let section)): chat.answer(section)
        default: .never
        }
    }
}

extension AccessSection.ChatPart {
    /// If the server has principals, every client is one of them.
    fileprivate func answer(_ section: ChatSection) -> RuleAnswer {
        let hasPrincipals = !section.principals.isEmpty
        if authenticated.map({ $0 != hasPrincipals }) ?? false { return .never }
        if let principal, !section.principals.contains(where: { $0.name == principal }) { return .never }
        if let origin, !section.origins.contains(origin) { return .never }
        let isOnlyPrincipal = principal == nil || section.principals.count == 1
        return isOnlyPrincipal && origin == nil ? .always : .perhaps
    }
}

extension AccessSection.PushPart {
    fileprivate func answer(_ shape: TopicShape?) -> RuleAnswer {
        guard let topic, let shape else { return .perhaps }
        let wanted = TopicShape(topic)
        guard wanted.meets(shape) else { return .never }
        return wanted.covers(shape) && qos == nil && retained == nil ? .always : .perhaps
    }
}
