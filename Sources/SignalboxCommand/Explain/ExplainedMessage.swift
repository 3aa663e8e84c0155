import AdapterSupport
import AppScheme
import JSBridge
import MQTTPush
import NavigationChain
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// A message or link as a configured source would deliver it.
struct ExplainedMessage {
    let source: SourceSection
    let arrival: Arrival
    /// The pattern that matches the topic or link, if any.
    let route: String?

    /// Creates a message as the source's adapter would.
    ///
    /// - Throws: ``CommandFailure`` if the source has no such messages.
    init(
        _ bytes: [UInt8],
        _ facts: MessageFacts,
        of source: SourceSection,
        in configuration: RunConfiguration
    ) throws(CommandFailure) {
        try ExplainedMessage.check(facts, of: source)
        let arrival: Arrival?
        switch source.kind {
        case .mqtt(let mqtt):
            let topic = try ExplainedMessage.topic(facts, of: source)
            let push = mqtt.push(
                from: source.name,
                limits: configuration.limits,
                ackDeadline: configuration.ackDeadline
            )
            arrival = push.arrival(of: bytes, on: topic, retained: facts.isRetained, qos: facts.qos ?? 1)
            route = mqtt.allTopics.first { $0.pattern.match(topic) != nil }?.pattern.text
        case .script:
            arrival = try ExplainedMessage.pageArrival(bytes, facts, of: source, limits: configuration.limits)
            route = nil
        case .links:
            let advice = "'\(source.name)' is a source of links; add a link with --url"
            throw CommandFailure(.usage, advice)
        case .feed(let feed):
            let known = ChatFacts(
                role: .feed,
                peer: "\(feed.url.host):\(feed.url.port)",
                subprotocol: feed.subprotocols.first,
                tls: feed.url.isSecure
            )
            let frame = ExplainedFrame(bytes: bytes, isBinary: facts.isBinary, frames: feed.frames)
            arrival = try frame.arrival(from: Origin(source: source.name, facts: known), configuration.limits)
            route = nil
        case .chat(let chat):
            let frame = ExplainedFrame(bytes: bytes, isBinary: facts.isBinary, frames: chat.frames)
            let known = try ExplainedMessage.client(facts, of: chat)
            arrival = try frame.arrival(from: Origin(source: source.name, facts: known), configuration.limits)
            route = nil
        }
        self.source = source
        self.arrival = try ExplainedMessage.made(arrival)
    }

    /// Creates a link.
    ///
    /// - Throws: ``CommandFailure`` if no arrival is made.
    init(
        link: String,
        _ links: LinksSection,
        of source: SourceSection,
        in configuration: RunConfiguration
    ) throws(CommandFailure) {
        let arrival = links.routes.arrival(of: link, from: source.name, limits: configuration.limits)
        self.arrival = try ExplainedMessage.made(arrival)
        self.source = source
        route = links.routes.match(link).pattern?.text
    }

    /// Checks that every given option applies to the kind of the source.
    private static func check(_ facts: MessageFacts, of source: SourceSection) throws(CommandFailure) {
        let (kind, wrong) =
            switch source.kind {
            case .mqtt:
                ("an MQTT source", facts.pageOptions + facts.originOptions + facts.chatOptions + facts.frameOptions)
            case .script: ("a page", facts.brokerOptions + facts.chatOptions + facts.frameOptions)
            case .links: ("a source of links", [String]())
            case .feed: ("a feed", facts.brokerOptions + facts.pageOptions + facts.originOptions + facts.chatOptions)
            case .chat: ("a chat", facts.brokerOptions + facts.pageOptions)
            }
        guard let option = wrong.first else { return }
        throw CommandFailure(.usage, "\(option) does not apply to messages of '\(source.name)', which is \(kind)")
    }

    /// Returns the facts of a client that the server would accept.
    private static func client(_ facts: MessageFacts, of chat: ChatSection) throws(CommandFailure) -> ChatFacts {
        let names = chat.principals.map(\.name)
        if let principal = facts.principal, !names.contains(principal) {
            let advice = NameSuggestion.advice(for: principal, among: names)
            throw CommandFailure(.usage, "--principal: there is no such principal\(advice)")
        }
        if let origin = facts.origin, !chat.origins.contains(origin) {
            throw CommandFailure(
                .usage,
                "--origin: clients of this origin cannot connect; 'origins' lists the allowed origins"
            )
        }
        if facts.principal == nil, let first = names.first {
            throw CommandFailure(
                .usage,
                "every client of this chat has a principal; add it, such as --principal \(first)"
            )
        }
        return ChatFacts(
            role: .server,
            peer: "127.0.0.1",
            origin: facts.origin,
            principal: facts.principal,
            subprotocol: nil,
            tls: chat.identity != nil
        )
    }

    private static func made(_ arrival: Arrival?) throws(CommandFailure) -> Arrival {
        guard let arrival else { throw CommandFailure(.unavailable, "the message has no arrival") }
        return arrival
    }

    private static func topic(_ facts: MessageFacts, of source: SourceSection) throws(CommandFailure) -> TopicName {
        guard let topic = facts.topic else {
            let advice = "'\(source.name)' is an MQTT source; add the message's topic with --topic"
            throw CommandFailure(.usage, advice)
        }
        return topic
    }

    private static func pageArrival(
        _ bytes: [UInt8],
        _ facts: MessageFacts,
        of source: SourceSection,
        limits: MessageLimits
    ) throws(CommandFailure) -> Arrival? {
        let frame: ScriptFacts.Knowledge =
            switch facts.frame {
            case .main, nil: .yes
            case .sub: .no
            case .unknown: .unknown
            }
        let facts = (
            known: ScriptFacts(engine: "JavaScriptCore", isMainFrame: frame, origin: facts.origin),
            envelope: facts.handler.map(Envelope.handler) ?? .standard
        )
        var batch = ArrivalBatch(pool: ArrivalPool(maximumKept: 0), limits: limits)
        let origin = Origin(source: source.name, facts: facts.known)
        bytes.withUnsafeBytes {
            batch.append($0, token: 0, origin: origin, receivedAt: .now(), envelope: facts.envelope)
        }
        return batch.take().first
    }
}

extension ExplainedMessage {
    /// Returns the description of the action's ordering key, or `nil` if its plugin is not ordered by key.
    func orderKey(of action: Action, plugins: [PluginSection]) -> String? {
        let plugin = plugins.first { $0.action == action.name }
        guard case .key(let path)? = plugin?.order, let body = try? action.body.decode(RawBody.self) else { return nil }
        return "the key \(path.joined(separator: ".")) is \(OrderKey(of: body, at: path).shown)"
    }
}

extension OrderKey {
    /// The maximum number of characters of a key that are shown.
    private static let maximumShown = 64

    /// The value, truncated to the maximum.
    fileprivate var shown: String {
        let whole =
            switch self {
            case .absent: "absent"
            case .text(let text): JSONText.quoted(text)
            case .value(let json): String(decoding: json, as: UTF8.self)
            }
        return whole.count > OrderKey.maximumShown ? "\(whole.prefix(OrderKey.maximumShown))…" : whole
    }
}

/// A WebSocket message as a source would read it.
struct ExplainedFrame {
    let bytes: [UInt8]
    let isBinary: Bool
    let frames: WebSocketFrames

    /// - Throws: ``CommandFailure`` if the source would not accept the message, or would read several from it.
    func arrival(from origin: Origin, _ limits: MessageLimits) throws(CommandFailure) -> Arrival? {
        let (envelope, payload) = try reading()
        var batch = ArrivalBatch(pool: ArrivalPool(maximumKept: 0), limits: limits)
        bytes.withUnsafeBytes {
            batch.append($0, token: 0, origin: origin, receivedAt: .now(), envelope: envelope, payload: payload)
        }
        return batch.take().first
    }

    private func reading() throws(CommandFailure) -> (Envelope, PayloadKind) {
        if isBinary {
            guard let action = frames.binary else {
                throw CommandFailure(
                    .usage,
                    "binary messages close the connection with 1003: 'frames' has no 'binary'"
                )
            }
            return (.route(RouteNaming(action: action)), .bytes)
        }
        switch frames.text {
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

extension Arrival {
    /// Reads one message as an adapter would.
    ///
    /// - Throws: ``CommandFailure`` if no arrival is made.
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
