import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// What `subscribe` was asked for, checked.
struct SubscribeRequest: Sendable {
    static let source: SourceName = "subscription"
    static let action: ActionName = "message"
    /// The most bytes of a message; a larger one is told on stderr.
    static let limits = MessageLimits(bytes: 1 << 20)
    /// How long a message may wait for a reader of stdout that pauses.
    static let patience: Duration = .seconds(3_600)

    let login: BrokerLogin
    let patterns: [TopicPattern]
    let quality: MQTTQuality
    let retained: MQTTRetained
    let count: Int?
    let timeout: Duration?
    let raw: RawOutput?
    /// Whether the number of messages is told once a second.
    let showsRate: Bool

    /// What is written for a message, with its newline.
    func line(for body: RawBody, _ context: ActionContext, isTerminal: Bool) -> [UInt8] {
        if let raw { return raw.line(Array(body.bytes), isTerminal: isTerminal) }
        let message = MessageRecord(payload: body.bytes, context: context, patterns: patterns)
        return isTerminal ? message.terminalLine : message.jsonLine
    }

    /// Whether it was said when the request is fulfilled; else any end is in order.
    var hasNeed: Bool { count != nil || timeout != nil }

    /// How many messages make the request fulfilled.
    var needed: Int { count ?? 1 }

    /// The source, without a session. The patterns' captures are found when a message is shown: here `{action}` and
    /// `{id}` have no meaning of their own.
    var push: MQTTPushConfiguration {
        let topics = patterns.compactMap { pattern in
            (try? TopicPattern(pattern.filter.text)).map { filter in
                var topic = MQTTTopic(filter, payload: .bytes, action: SubscribeRequest.action)
                topic.quality = quality
                topic.retained = retained
                return topic
            }
        }
        var push = MQTTPushConfiguration.withoutSession(
            source: SubscribeRequest.source,
            broker: login.broker,
            topics: topics
        )
        login.apply(to: &push)
        push.limits = SubscribeRequest.limits
        push.holdLimit = SubscribeRequest.patience
        return push
    }
}
