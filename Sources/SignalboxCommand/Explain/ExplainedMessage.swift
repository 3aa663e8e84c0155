import AppScheme
import JSBridge
import MQTTPush
import NavigationChain
import SignalboxCore
import SignalboxRoutes

/// A message or link as a source of a configuration would bring it.
struct ExplainedMessage {
    let source: SourceSection
    let arrival: Arrival
    /// The pattern of the topic or link that reads it, where one matches.
    let route: String?

    /// A message, made by what the source's adapter makes arrivals with.
    ///
    /// - Throws: ``CommandRefusal`` when the source brings no such messages.
    init(
        _ bytes: [UInt8],
        _ facts: MessageFacts,
        of source: SourceSection,
        in configuration: RunConfiguration
    ) throws(CommandRefusal) {
        let arrival: Arrival?
        switch source.kind {
        case .mqtt(let mqtt):
            let topic = try ExplainedMessage.topic(facts, of: source)
            let push = mqtt.push(from: source.name, limits: configuration.limits, holdLimit: configuration.holdLimit)
            arrival = push.arrival(of: bytes, on: topic, retained: facts.isRetained, qos: facts.qos ?? 1)
            route = mqtt.topics.first { $0.pattern.match(topic) != nil }?.pattern.text
        case .script:
            arrival = try ExplainedMessage.pageArrival(bytes, facts, of: source, limits: configuration.limits)
            route = nil
        case .links:
            let advice = "'\(source.name)' is a source of links; give a link with --url"
            throw CommandRefusal(.usage, advice)
        }
        self.source = source
        self.arrival = try ExplainedMessage.made(arrival)
    }

    /// A link.
    ///
    /// - Throws: ``CommandRefusal``, when no arrival is made.
    init(
        link: String,
        _ links: LinksSection,
        of source: SourceSection,
        in configuration: RunConfiguration
    ) throws(CommandRefusal) {
        let arrival = links.routes.arrival(of: link, from: source.name, limits: configuration.limits)
        self.arrival = try ExplainedMessage.made(arrival)
        self.source = source
        route = links.routes.match(link).pattern?.text
    }

    private static func made(_ arrival: Arrival?) throws(CommandRefusal) -> Arrival {
        guard let arrival else { throw CommandRefusal(.unavailable, "no arrival was made") }
        return arrival
    }

    private static func topic(_ facts: MessageFacts, of source: SourceSection) throws(CommandRefusal) -> TopicName {
        if let option = facts.pageOptions.first {
            throw CommandRefusal(.usage, "\(option) is about a page; '\(source.name)' has messages of a broker")
        }
        guard let topic = facts.topic else {
            let advice = "'\(source.name)' has messages of a broker; say on which topic with --topic"
            throw CommandRefusal(.usage, advice)
        }
        return topic
    }

    private static func pageArrival(
        _ bytes: [UInt8],
        _ facts: MessageFacts,
        of source: SourceSection,
        limits: MessageLimits
    ) throws(CommandRefusal) -> Arrival? {
        if let option = facts.brokerOptions.first {
            throw CommandRefusal(.usage, "\(option) is about a broker's message; '\(source.name)' is a page")
        }
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
            batch.append($0, token: 0, origin: origin, receivedAt: .now, envelope: facts.envelope)
        }
        return batch.take().first
    }
}
