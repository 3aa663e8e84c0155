import SignalboxCore
import SignalboxRoutes

/// What is known about all messages of one topic with the same retain flag and QoS.
final class PushRoute {
    let topic: [UInt8]
    let retained: Bool
    let qos: Int32
    let facts: PushFacts
    let origin: Origin
    let payload: PayloadKind
    /// How the message is read, or why the topic alone makes it unreadable.
    let envelope: Result<Envelope, Outcome.Rejection>
    /// Whether one of the configured filters brought it.
    let isExpected: Bool
    /// Whether nobody wants it, as the broker had it stored.
    let isIgnored: Bool

    /// - Parameter former: topics that were removed. They decide what no other topic's filter brought.
    init(
        topic: [UInt8],
        retained: Bool,
        qos: Int32,
        configuration: MQTTPushConfiguration,
        former: [MQTTTopic] = []
    ) {
        let text = String(decoding: topic, as: UTF8.self)
        let isBrought = configuration.topics.contains { $0.pattern.filter.matches(text) }
        let match =
            PushRoute.match(text, in: configuration.topics) ?? (isBrought ? nil : PushRoute.match(text, in: former))
        let found = match?.topic
        let captures = match?.captures ?? RouteCaptures()
        self.topic = topic
        self.retained = retained
        self.qos = qos
        facts = PushFacts(
            broker: configuration.broker.description,
            topic: text,
            captures: captures,
            retained: retained,
            qos: Int(qos),
            tls: configuration.security.isVerified,
            properties: nil,
            isKept: configuration.sessionExpiry > .zero
        )
        origin = Origin(source: configuration.source, facts: facts)
        isIgnored = retained && found?.retained == .ignore
        payload = found?.payload ?? .bytes
        if let found {
            isExpected = true
            envelope = PushRoute.envelope(of: found, captures: captures)
        } else {
            let pattern = configuration.topics.first { $0.pattern.filter.matches(text) }?.pattern
            isExpected = pattern != nil
            envelope = .failure(PushRoute.unmatched(by: pattern))
        }
    }

    private static func match(_ text: String, in topics: [MQTTTopic]) -> (topic: MQTTTopic, captures: RouteCaptures)? {
        for topic in topics {
            if let captures = topic.pattern.match(text) { return (topic, captures) }
        }
        return nil
    }

    /// About how much memory it takes, in bytes: the topic is kept as bytes, as text, and once more in captures.
    var memoryEstimate: Int { 512 + 4 * topic.count }

    func isFor(_ topic: UnsafeRawBufferPointer, retained: Bool, qos: Int32) -> Bool {
        self.qos == qos && self.retained == retained && self.topic.count == topic.count
            && self.topic.elementsEqual(topic)
    }

    private static func envelope(
        of topic: MQTTTopic,
        captures: RouteCaptures
    ) -> Result<Envelope, Outcome.Rejection> {
        var action = topic.action
        var id: ActionID?
        var others: [RouteNaming.Capture] = []
        for capture in captures {
            switch capture.name {
            case "action":
                do {
                    action = try ActionName(capture.value)
                } catch {
                    return .failure(malformed("the topic's {action} names no action: \(error)"))
                }
            case "id":
                guard let found = ActionID(capture.value) else {
                    return .failure(malformed("the topic's {id} has not 1 to \(ActionID.maximumLength) bytes"))
                }
                id = found
            default:
                others.append(RouteNaming.Capture(name: capture.name, value: capture.value))
            }
        }
        if action == nil && id == nil && others.isEmpty { return .success(.payload(topic.envelope)) }
        return .success(.route(RouteNaming(action: action, id: id, captures: others), payload: topic.envelope))
    }

    /// - Parameter pattern: the one whose filter brought the topic, when the broker was asked for it.
    private static func unmatched(by pattern: TopicPattern?) -> Outcome.Rejection {
        guard let pattern else { return malformed("the topic matches none of the source's patterns") }
        let brought = "the filter of \(pattern.text.debugDescription) brought it"
        return malformed(
            "the topic matches none of the source's patterns: \(brought), but a level has not the form that a capture asks for"
        )
    }

    private static func malformed(_ detail: String) -> Outcome.Rejection {
        Outcome.Rejection(.malformed, detail: detail)
    }
}

/// Remembers topics' routes by the topic's bytes, so that a message on a known topic costs neither a `String` nor a
/// match.
///
/// Bounded: when `bound` routes are remembered and another topic comes, all are forgotten; of topics longer than
/// ``longestTopic`` only the last is remembered. The hash is seeded per
/// process, so that a publisher cannot choose topics that collide.
struct RouteCache {
    /// The longest topic that is remembered beside others, in bytes.
    static let longestTopic = 1_024

    private let configuration: MQTTPushConfiguration
    private let former: [MQTTTopic]
    private let bound: Int
    private let mask: Int
    private var slots: [PushRoute?]
    private var last: PushRoute?
    private(set) var count = 0
    /// About how much memory the routes made since ``forgetMadeBytes()`` take: whoever holds their messages holds them.
    private(set) var madeBytes = 0

    /// - Parameter former: topics that were removed, whose messages may still come.
    init(configuration: MQTTPushConfiguration, former: [MQTTTopic] = []) {
        self.configuration = configuration
        self.former = former
        bound = configuration.rememberedTopics
        var size = 4
        while size < 2 * bound { size *= 2 }
        mask = size - 1
        slots = Array(repeating: nil, count: size)
    }

    mutating func route(topic: UnsafeRawBufferPointer, retained: Bool, qos: Int32) -> PushRoute {
        if let last, last.isFor(topic, retained: retained, qos: qos) { return last }
        let route = topic.count > RouteCache.longestTopic ? make(topic, retained, qos) : find(topic, retained, qos)
        last = route
        return route
    }

    mutating func forgetMadeBytes() {
        madeBytes = 0
    }

    private mutating func make(_ topic: UnsafeRawBufferPointer, _ retained: Bool, _ qos: Int32) -> PushRoute {
        let route = PushRoute(
            topic: Array(topic),
            retained: retained,
            qos: qos,
            configuration: configuration,
            former: former
        )
        madeBytes += route.memoryEstimate
        return route
    }

    private mutating func find(_ topic: UnsafeRawBufferPointer, _ retained: Bool, _ qos: Int32) -> PushRoute {
        var slot = RouteCache.hash(topic, retained, qos) & mask
        while let known = slots[slot] {
            if known.isFor(topic, retained: retained, qos: qos) { return known }
            slot = (slot + 1) & mask
        }
        let route = make(topic, retained, qos)
        if count == bound {
            for index in slots.indices { slots[index] = nil }
            count = 0
            slot = RouteCache.hash(topic, retained, qos) & mask
        }
        slots[slot] = route
        count += 1
        return route
    }

    private static func hash(_ topic: UnsafeRawBufferPointer, _ retained: Bool, _ qos: Int32) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: topic)
        hasher.combine(qos << 1 | (retained ? 1 : 0))
        return hasher.finalize()
    }
}
