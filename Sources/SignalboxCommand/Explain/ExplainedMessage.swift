import AdapterSupport
import AppScheme
import HTTPActions
import JSBridge
import MQTTPush
import NavigationChain
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// A message or link in the form in which a configured source would deliver it.
struct ExplainedMessage {
    let source: SourceSection
    let arrival: Arrival
    /// The pattern that matches the topic or link, or `nil` if none does.
    let route: String?

    /// Creates a message in the same way as the source's adapter.
    ///
    /// - Throws: ``CommandFailure`` if the source cannot produce such a message.
    init(
        _ bytes: [UInt8],
        _ facts: MessageFacts,
        of source: SourceSection,
        in configuration: RunConfiguration
    ) throws(CommandFailure) {
        try ExplainedMessage.check(facts, of: source)
        self.source = source
        let limits = configuration.limits
        var route: String?
        switch source.kind {
        case .mqtt(let mqtt):
            guard let topic = facts.topic else {
                let advice = "'\(source.name)' is an MQTT source; add the message's topic with \(facts.shown("topic"))"
                throw CommandFailure(.usage, advice)
            }
            arrival = try mqtt.push.arrival(of: bytes, on: topic, retained: facts.retained, qos: facts.qos ?? 1).made()
            route = mqtt.allTopics.first { $0.pattern.match(topic) != nil }?.pattern.text
        case .script:
            let origin = Origin(source: source.name, facts: ExplainedMessage.page(facts))
            let envelope = facts.handler.map(Envelope.handler) ?? .standard
            arrival = try Arrival.single(bytes, from: origin, envelope, limits: limits)
        case .links:
            throw CommandFailure(.usage, "'\(source.name)' is a source of links; add a link with \(facts.shown("url"))")
        case .feed(let feed):
            let (envelope, payload) = try feed.frames.reading(of: bytes, isBinary: facts.binary)
            let origin = Origin(source: source.name, facts: ExplainedMessage.server(of: feed))
            arrival = try Arrival.single(bytes, from: origin, envelope, payload: payload, limits: limits)
        case .chat(let chat):
            let (envelope, payload) = try chat.server.frames.reading(of: bytes, isBinary: facts.binary)
            let origin = Origin(source: source.name, facts: try ExplainedMessage.client(facts, of: chat.server))
            arrival = try Arrival.single(bytes, from: origin, envelope, payload: payload, limits: limits)
        case .http(let http):
            (arrival, route) = try ExplainedMessage.reading(of: bytes, facts, by: http)
        }
        self.route = route
    }

    /// Creates a link in the same way as the source's adapter.
    ///
    /// - Throws: ``CommandFailure`` if the source would not submit this link.
    init(
        link: String,
        _ links: LinksSource,
        of source: SourceSection,
        in configuration: RunConfiguration
    ) throws(CommandFailure) {
        arrival = try links.routes.arrival(of: link, from: source.name, limits: configuration.limits).made()
        self.source = source
        route = links.routes.match(link).pattern?.text
    }

    /// Creates a message from a stored one that the source's adapter has read again.
    init(restored arrival: Arrival, of source: SourceSection) {
        self.arrival = arrival
        self.source = source
        let topic = (arrival.origin.facts as? PushFacts)?.topic
        route = topic.flatMap { topic in
            source.kind.mqtt?.allTopics.first { $0.pattern.match(topic) != nil }?.pattern.text
        }
    }

    /// Checks that every option the user gave applies to this kind of source.
    private static func check(_ facts: MessageFacts, of source: SourceSection) throws(CommandFailure) {
        let kind = source.kind.description
        guard source.kind.links == nil, let option = facts.given.first(where: { !$0.kinds.contains(kind) })?.name else {
            return
        }
        throw CommandFailure(.usage, "\(option) does not apply to messages of '\(source.name)', which is \(kind)")
    }

    /// Returns the facts about a client that the server would accept.
    private static func client(_ facts: MessageFacts, of chat: WebSocketServerConfiguration) throws(CommandFailure)
        -> ChatFacts
    {
        let names = chat.principals.map(\.name)
        if let principal = facts.principal, !names.contains(principal) {
            let advice = NameSuggestion.advice(for: principal, among: names)
            throw CommandFailure(.usage, "\(facts.shown("principal")): there is no such principal\(advice)")
        }
        if let origin = facts.webOrigin, !chat.origins.contains(origin) {
            throw CommandFailure(
                .usage,
                "\(facts.shown("origin")): clients of this origin cannot connect; 'origins' lists the allowed origins"
            )
        }
        if facts.principal == nil, let first = names.first {
            throw CommandFailure(
                .usage,
                "every client of this chat has a principal; add it, such as \(facts.example("principal", first))"
            )
        }
        return ChatFacts(
            role: .server,
            peer: "127.0.0.1",
            origin: facts.webOrigin,
            principal: facts.principal,
            subprotocol: nil,
            tls: chat.identity != nil
        )
    }

    private static func server(of feed: WebSocketFeedConfiguration) -> ChatFacts {
        ChatFacts(role: .feed, peer: feed.peer, subprotocol: feed.subprotocols.first, tls: feed.url.isSecure)
    }

    private static func reading(
        of bytes: [UInt8],
        _ facts: MessageFacts,
        by http: HTTPSource
    ) throws(CommandFailure) -> (Arrival, route: String?) {
        let request = try request(facts, of: http)
        return (try http.server.arrival(of: bytes, request).made(), http.server.route(of: request))
    }

    /// Returns a request that the source would accept.
    private static func request(_ facts: MessageFacts, of http: HTTPSource) throws(CommandFailure) -> ExplainedRequest {
        guard let path = facts.path else {
            let advice = "add the path of the request, such as \(facts.example("path", "/order"))"
            throw CommandFailure(.usage, "messages of this source are HTTP requests; \(advice)")
        }
        if let principal = facts.principal, !http.principals.contains(principal) {
            let advice = NameSuggestion.advice(for: principal, among: http.principals)
            throw CommandFailure(.usage, "\(facts.shown("principal")): there is no such principal\(advice)")
        }
        if let origin = facts.webOrigin, !http.server.origins.contains(origin) {
            let text = "pages of this origin cannot send; 'origins' lists the allowed origins"
            throw CommandFailure(.usage, "\(facts.shown("origin")): \(text)")
        }
        if facts.principal == nil, !http.server.allowsAnyone, let first = http.principals.first {
            throw CommandFailure(
                .usage,
                "every client of this source has a principal; add it, such as \(facts.example("principal", first))"
            )
        }
        return ExplainedRequest(
            path: path,
            contentType: facts.contentType ?? "application/json",
            principal: facts.principal,
            origin: facts.webOrigin,
            isSecure: http.listener.configuration.identity != nil
        )
    }

    private static func page(_ facts: MessageFacts) -> ScriptFacts {
        let frame: ScriptFacts.Knowledge =
            switch facts.frame {
            case .main, nil: .yes
            case .sub: .no
            case .unknown: .unknown
            }
        return ScriptFacts(engine: "JavaScriptCore", isMainFrame: frame, origin: facts.webOrigin)
    }
}

extension ExplainedMessage {
    /// The action, or `nil` if the message could not be read.
    var action: Action? { try? arrival.reading.get() }

    /// Returns a description of the action's ordering key, or `nil` if the plugin does not order its actions by key.
    func orderKey(plugins: [PluginSection]) -> String? {
        guard let action, case .key(let path)? = plugins.first(where: { $0.action == action.name })?.order,
            let body = try? action.body.decode(RawBody.self)
        else { return nil }
        return "the key \(path.joined(separator: ".")) is \(OrderKey(of: body, at: path).shown)"
    }
}

extension OrderKey {
    /// The maximum number of characters of a key that are shown.
    private static let maximumShown = 64

    /// The value as text. It is truncated if it is longer than the maximum.
    fileprivate var shown: String {
        let whole =
            switch self {
            case .absent: "absent"
            case .text(let text): JSONText.quoted(text)
            case .value(let json): String(decoding: EscapedJSON.compact(json), as: UTF8.self)
            }
        return whole.count > OrderKey.maximumShown ? "\(whole.prefix(OrderKey.maximumShown))…" : whole
    }
}

extension WebSocketFrames {
    /// Returns the envelope and the payload kind that the source uses to read these bytes.
    ///
    /// - Throws: ``CommandFailure`` if the source would not accept the message, or would split it into several
    ///   messages.
    fileprivate func reading(of bytes: [UInt8], isBinary: Bool) throws(CommandFailure) -> (Envelope, PayloadKind) {
        if isBinary {
            guard let binary else {
                throw CommandFailure(
                    .usage,
                    "binary messages close the connection with 1003: 'frames' has no 'binary'"
                )
            }
            return (.route(RouteNaming(action: binary)), .bytes)
        }
        switch text {
        case .action(let action, let payload): return (.route(RouteNaming(action: action)), payload)
        case .envelope(let envelope):
            let first = bytes.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
            guard first != UInt8(ascii: "[") else {
                throw CommandFailure(.usage, "an array is a batch of messages; pass one of them")
            }
            return (.payload(envelope), .json)
        }
    }
}

extension SourceKind {
    /// The name of the kind, for messages.
    var description: String {
        switch self {
        case .mqtt: "an MQTT source"
        case .script: "a page"
        case .links: "a source of links"
        case .feed: "a feed"
        case .chat: "a chat"
        case .http: "a source of HTTP requests"
        }
    }
}

extension Arrival {
    /// Reads one message in the same way as an adapter.
    ///
    /// - Throws: ``CommandFailure`` if the adapter would not submit this message.
    static func single(
        _ bytes: [UInt8],
        from origin: Origin,
        _ envelope: Envelope,
        payload: PayloadKind = .json,
        limits: MessageLimits
    ) throws(CommandFailure) -> Arrival {
        var batch = ArrivalBatch(pool: ArrivalPool(maximumKept: 0), limits: limits)
        bytes.withUnsafeBytes {
            batch.append($0, token: 0, origin: origin, receivedAt: .now(), envelope: envelope, payload: payload)
        }
        return try batch.take().first.made()
    }
}

extension Arrival? {
    fileprivate func made() throws(CommandFailure) -> Arrival {
        guard let self else { throw CommandFailure(.unavailable, "the message has no arrival") }
        return self
    }
}
