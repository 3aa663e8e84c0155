import AppScheme
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// One way by which messages come in: a topic, a route of links, a page, or the program itself.
struct MessageWay {
    enum Kind {
        case topic(TopicSection)
        /// What a broker's source tells of its own connection.
        case session
        /// Links of a route, or of the fallback: by the scheme or the host that a rule may name.
        case links(scheme: String?, host: String?)
        case page
        case feed(isSecure: Bool)
        case chat(ChatSection)
        case program
    }

    /// Which actions its messages can be.
    enum Naming {
        case fixed(ActionName)
        /// Any, as the sender says.
        case sender
        /// None that could have a plugin.
        case nothing
    }

    let source: SourceName
    let kind: Kind
    let naming: Naming

    /// Whether a message by this way can be the action.
    func canName(_ action: ActionName) -> Bool {
        switch naming {
        case .fixed(let name): name == action
        // What is our own no peer can name.
        case .sender: ![.chatConnected, .chatClosed, .pushSessionLost].contains(action)
        case .nothing: false
        }
    }

    /// The topics of its messages of one action, or of all.
    func shape(of action: ActionName?) -> TopicShape? {
        guard case .topic(let topic) = kind else { return nil }
        return TopicShape(topic.pattern, action: action)
    }

    /// Every way into a program with these sources.
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

    /// Whether what stands for the action is a number, which no action begins with.
    private static func isNumber(_ pattern: String) -> Bool { pattern.contains("{action:int}") }
}
