import AppScheme
import HTTPActions
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

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
        case requests(HTTPSource)
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
    /// What the content of the messages is. An envelope is JSON.
    var payload = PayloadKind.json

    /// Returns whether messages on this route can have the action.
    func canName(_ action: ActionName) -> Bool {
        if let fixed = self.action { return fixed == action }
        return !namesNothing && !InboundRoute.internalActions.contains(action)
    }

    /// The actions that no peer can name.
    static let internalActions: [ActionName] = [.chatConnected, .chatClosed, .pushSessionLost]

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
                route.payload = topic.payload
                return route
            }
            guard mqtt.push.announcesConnections else { return topics }
            return topics + [InboundRoute(source: name, kind: .other, action: .pushSessionLost)]
        case .script: return [InboundRoute(source: name, kind: .page)]
        case .links(let links): return routes(of: links.routes, from: name)
        case .feed(let feed):
            let kind = Kind.feed(isSecure: feed.isURLRead ? feed.url.isSecure : nil)
            return routes(of: feed.frames, kind, from: name, announcesConnections: feed.announcesConnections)
        case .chat(let chat):
            let announces = chat.server.announcesConnections
            return routes(of: chat.server.frames, .chat(chat.server), from: name, announcesConnections: announces)
        case .http(let http): return routes(of: http, from: name)
        }
    }

    private static func routes(
        of frames: WebSocketFrames,
        _ kind: Kind,
        from source: SourceName,
        announcesConnections: Bool
    ) -> [InboundRoute] {
        var text = InboundRoute(source: source, kind: kind)
        if case .action(let action, let payload) = frames.text { (text.action, text.payload) = (action, payload) }
        let binary = frames.binary.map { InboundRoute(source: source, kind: kind, action: $0, payload: .bytes) }
        let announced: [ActionName] = announcesConnections ? [.chatConnected, .chatClosed] : []
        return [text] + [binary].compactMap { $0 }
            + announced.map { InboundRoute(source: source, kind: kind, action: $0) }
    }

    private static func routes(of http: HTTPSource, from source: SourceName) -> [InboundRoute] {
        http.server.routes.map { request in
            var route = InboundRoute(source: source, kind: .requests(http), pattern: request.pattern.text)
            route.action = request.action
            route.namesNothing = isNumber(request.pattern.text)
            if request.payload == .text { route.payload = .text }
            if request.payload == .bytes { route.payload = .bytes }
            return route
        }
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

/// The routes of a configuration by source and action, so that no plugin or rule is compared with every route.
struct RouteIndex {
    private struct Key: Hashable {
        let source: SourceName
        let action: ActionName?
        let pattern: String?
    }

    private let all: [InboundRoute]
    private let bySource: [SourceName: [InboundRoute]]
    /// The key `nil` has the routes on which the sender names the action.
    private let byAction: [SourceName: [ActionName?: [InboundRoute]]]
    private let byPattern: [Key: [InboundRoute]]
    private let fixed: [ActionName: Set<SourceName>]
    /// The names of the sources that have a route.
    let sources: Set<SourceName>

    init(_ routes: [InboundRoute]) {
        all = routes
        bySource = Dictionary(grouping: routes, by: \.source)
        byAction = bySource.mapValues { Dictionary(grouping: $0, by: \.action) }
        byPattern = Dictionary(grouping: routes) { Key(source: $0.source, action: $0.action, pattern: $0.pattern) }
        sources = Set(bySource.keys)
        fixed = routes.reduce(into: [:]) { fixed, route in
            if let action = route.action { fixed[action, default: []].insert(route.source) }
        }
    }

    /// Returns the sources with a route on which every message has the action.
    func sources(fixedTo action: ActionName) -> Set<SourceName> { fixed[action] ?? [] }

    /// Returns the source's routes with this pattern on which every message has the action.
    func fixed(to action: ActionName, from source: SourceName, pattern: String?) -> [InboundRoute] {
        byPattern[Key(source: source, action: action, pattern: pattern)] ?? []
    }

    /// Returns whether a route meets the condition.
    ///
    /// - Parameters:
    ///   - action: Only routes whose messages can have this action are considered; all routes if `nil`.
    ///   - sources: Only routes of these sources are considered; all routes if `nil`.
    func contains(
        _ action: ActionName? = nil,
        from sources: Set<SourceName>?,
        where isMet: (InboundRoute) -> Bool
    ) -> Bool {
        guard let sources else { return all.contains { action.map($0.canName) != false && isMet($0) } }
        return sources.contains { source in
            guard let action else { return bySource[source]?.contains(where: isMet) == true }
            let routes = byAction[source] ?? [:]
            return routes[action]?.contains(where: isMet) == true
                || routes[nil]?.contains { $0.canName(action) && isMet($0) } == true
        }
    }
}
