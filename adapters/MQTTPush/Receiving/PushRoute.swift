import AdapterSupport
import SignalboxCore
import SignalboxRoutes

/// Holds what all messages with the same topic, retain flag and QoS have in common.
final class PushRoute {
    let topic: [UInt8]
    let retained: Bool
    let qos: Int32
    let facts: PushFacts
    let origin: Origin
    let payload: PayloadKind
    /// How to read the messages, or the rejection if messages on this topic cannot be read.
    let envelope: Result<Envelope, Outcome.Rejection>
    /// Whether the topic matches the filter of a configured topic or the pattern of a former one.
    let isExpected: Bool
    /// Whether the messages are dropped because they are retained.
    let isIgnored: Bool
    /// Whether the messages may belong to a shared subscription.
    let mayBeShared: Bool

    /// - Parameters:
    ///   - former: The topics that were removed. They are used only if no current topic has a matching filter.
    ///   - suggested: The topic that the subscription identifier of a message names. If it matches, no other topic is
    ///     compared.
    init(
        topic: [UInt8],
        retained: Bool,
        qos: Int32,
        configuration: MQTTPushConfiguration,
        former: [MQTTTopic] = [],
        suggested: MQTTTopic? = nil
    ) {
        let text = String(decoding: topic, as: UTF8.self)
        let suggestion = suggested.flatMap { PushRoute.match(text, in: [$0]) }
        let pattern =
            suggestion?.topic.pattern ?? configuration.topics.first { $0.pattern.filter.matches(text) }?.pattern
        let match =
            suggestion ?? PushRoute.match(text, in: configuration.topics)
            ?? (pattern == nil ? PushRoute.match(text, in: former + configuration.otherTopics) : nil)
        self.topic = topic
        self.retained = retained
        self.qos = qos
        facts = PushFacts(
            broker: configuration.broker.description,
            topic: text,
            captures: match?.captures ?? RouteCaptures(),
            retained: retained,
            qos: Int(qos),
            tls: configuration.security.isVerified,
            keepsSession: configuration.sessionExpiry > .zero
        )
        origin = Origin(source: configuration.source, facts: facts)
        isIgnored = retained && match?.topic.retained == .ignore
        mayBeShared = (match?.topic.pattern ?? pattern)?.filter.isShared ?? true
        payload = match?.topic.payload ?? .bytes
        isExpected = match != nil || pattern != nil
        envelope =
            match.map { PushRoute.envelope(of: $0.topic, captures: $0.captures) }
            ?? .failure(PushRoute.unmatched(by: pattern))
    }

    private static func match(_ text: String, in topics: [MQTTTopic]) -> (topic: MQTTTopic, captures: RouteCaptures)? {
        for topic in topics {
            if let captures = topic.pattern.match(text) { return (topic, captures) }
        }
        return nil
    }

    /// The approximate memory use in bytes, considering that the topic is stored as bytes, as text, and again in the
    /// captures.
    var memoryEstimate: Int { 512 + 4 * topic.count + facts.broker.utf8.count }

    func isFor(_ topic: UnsafeRawBufferPointer, retained: Bool, qos: Int32) -> Bool {
        self.qos == qos && self.retained == retained && self.topic.count == topic.count
            && self.topic.elementsEqual(topic)
    }

    private static func envelope(
        of topic: MQTTTopic,
        captures: RouteCaptures
    ) -> Result<Envelope, Outcome.Rejection> {
        Result { () throws(Outcome.Rejection) in
            let captures = captures.map { RouteNaming.Capture(name: $0.name, value: $0.value) }
            let naming = try RouteNaming(captures, action: topic.action, of: "topic")
            return .route(naming, payload: topic.envelope)
        }
    }

    /// - Parameter pattern: The pattern whose filter matches the topic, if there is one.
    private static func unmatched(by pattern: TopicPattern?) -> Outcome.Rejection {
        guard let pattern else { return malformed("the topic matches none of the source's patterns") }
        let match = "the filter of \(pattern.text.debugDescription) matches it"
        return malformed(
            "the topic matches none of the source's patterns: \(match), but a level does not have the form that its "
                + "capture requires"
        )
    }

    private static func malformed(_ detail: String) -> Outcome.Rejection {
        Outcome.Rejection(.malformed, detail: detail)
    }
}
