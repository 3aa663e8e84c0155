#if MQTT
import AdapterSupport
import SignalboxCore
import SignalboxRoutes
import Synchronization

/// Tracks the requests among a source's arrivals, and replies to each request when it has an outcome. A responder is
/// safe to use from any thread, and its methods never block.
///
/// Response topics are untrusted, so they are checked before a request is stored.
final class Responder: Sendable {
    /// Where to send a reply, and the data to include in it.
    struct ReplyAddress {
        let topic: String
        let correlation: [UInt8]?
        let id: ActionID?
        let key: IDKey
        /// The request's quality of service. If the request is abandoned, the broker redelivers it at QoS 1, whereas at
        /// QoS 0 it is lost.
        let qos: Int
        /// The request's trace context, which the reply repeats.
        let trace: TraceContext?
    }

    /// Identifies a request. A token alone is not enough, because tokens are unique only within a sink, and each
    /// connection of each run has a separate sink.
    private struct RequestKey: Hashable {
        let sink: ObjectIdentifier
        let token: UInt64
    }

    private struct State {
        var waiting: [RequestKey: ReplyAddress] = [:]
        var counts = MQTTReplyCounts()
    }

    private let allowed: [TopicFilter]
    private let bound: Int
    private let publisher: MQTTPublisher
    private let state = Mutex(State())

    init(_ publishing: MQTTPublishing, publisher: MQTTPublisher) {
        allowed = publishing.replyTopics
        bound = publishing.waitingReplies
        self.publisher = publisher
    }

    var counts: MQTTReplyCounts { state.withLock { $0.counts } }

    /// Stores the requests among arrivals before the arrivals are submitted.
    ///
    /// - Parameter sink: The sink that receives the outcomes. The sink stays alive until it has received all of them.
    func register(_ batch: [Arrival], for sink: any SettlementSink) {
        for arrival in batch {
            guard let facts = arrival.origin.facts as? PushFacts, let properties = facts.properties,
                let topic = properties.responseTopic
            else { continue }
            if let reason = refusal(of: topic) {
                refuse(topic, reason)
                continue
            }
            // If the id was assigned by this program, the requester does not know it.
            let action = (try? arrival.reading.get()).flatMap { $0.idKey == .assigned ? nil : $0 }
            let address = ReplyAddress(
                topic: topic,
                correlation: properties.correlationData,
                id: action?.id.copied(),
                key: action?.idKey ?? .assigned,
                qos: facts.qos,
                trace: facts.traceContext
            )
            let isRegistered = state.withLock { state in
                guard state.waiting.count < bound else { return false }
                state.waiting[RequestKey(sink: ObjectIdentifier(sink), token: arrival.token)] = address
                return true
            }
            if isRegistered {
                publisher.queue.addPendingReplies(1)
            } else {
                refuse(topic, "too many requests wait for an outcome")
            }
        }
    }

    private func refusal(of topic: String) -> String? {
        guard let name = try? TopicName(topic) else { return "a response topic must not have wildcards" }
        guard !topic.hasPrefix("$") else { return "replies to topics that begin with $ are never sent" }
        guard topic.utf8.count <= Responder.longestTopic else { return "the response topic is too long" }
        guard allowed.contains(where: { $0.matches(name) }) else {
            return "no allowed filter matches the response topic"
        }
        return nil
    }

    /// The maximum length of a response topic, in bytes.
    private static let longestTopic = 1_024

    private func refuse(_ topic: String, _ reason: String) {
        state.withLock { $0.counts.refused += 1 }
        publisher.queue.logUnansweredRequest(topic, reason)
    }

    /// Removes the requests among arrivals that were never submitted. The broker redelivers these requests at QoS 1.
    func unregister(_ batch: ArraySlice<Arrival>, for sink: any SettlementSink) {
        let count = state.withLock { state in
            let before = state.waiting.count
            for arrival in batch {
                let key = RequestKey(sink: ObjectIdentifier(sink), token: arrival.token)
                if state.waiting.removeValue(forKey: key)?.qos == 0 { state.counts.lost += 1 }
            }
            return before - state.waiting.count
        }
        if count > 0 { publisher.queue.addPendingReplies(-count) }
    }

    /// Replies to a request. An abandoned request is not answered, because the broker redelivers it at QoS 1, or the
    /// journal of the source keeps it.
    func settle(_ token: UInt64, for sink: any SettlementSink, _ outcome: Outcome) {
        let key = RequestKey(sink: ObjectIdentifier(sink), token: token)
        guard let address = state.withLock({ $0.waiting.removeValue(forKey: key) }) else { return }
        defer { publisher.queue.addPendingReplies(-1) }
        if case .abandoned(let abandonment) = outcome {
            // The next run handles a request in the journal, but does not know that it is a request.
            if address.qos == 0 || abandonment == .kept { state.withLock { $0.counts.lost += 1 } }
            return
        }
        var message = MQTTMessage(
            AnswerWriter.answer(address.id, address.key, outcome, to: "publisher"),
            to: address.topic
        )
        message.correlation = address.correlation
        message.contentType = "application/json"
        message.userProperties = [MQTTMessage.UserProperty(name: "outcome", value: outcome.name)]
        message.userProperties += (address.trace?.members ?? []).map { MQTTMessage.UserProperty(name: $0, value: $1) }
        do throws(MQTTPublishError) {
            try message.validate(for: publisher.configuration.version)
            try publisher.queue.reply(message)
            state.withLock { $0.counts.answered += 1 }
        } catch {
            state.withLock { $0.counts.lost += 1 }
            publisher.queue.logUnansweredRequest(address.topic, "the reply was not accepted: \(error.code)")
        }
    }
}

/// The number of received requests with each result since the adapter was created.
public struct MQTTReplyCounts: Sendable, Hashable {
    /// Replies that were accepted by the publisher.
    public internal(set) var answered = 0
    /// Requests that are never answered, because their response topic is not allowed or too many requests were already
    /// waiting for an outcome.
    public internal(set) var refused = 0
    /// Requests that received no reply, either because the publisher did not accept the reply (for example, because its
    /// queue was full), because the request arrived at QoS 0 and was abandoned or never submitted, or because the program
    /// stopped while the request was in the source's journal.
    public internal(set) var lost = 0
}

/// A sender that publishes each action to the configured topic.
final class PushSender: Sender {
    private let topic: SendTopic
    private let publisher: MQTTPublisher

    init(topic: SendTopic, publisher: MQTTPublisher) {
        self.topic = topic
        self.publisher = publisher
    }

    func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {
        do throws(MQTTPublishError) {
            let message = try topic.message(action, id: id, body: body, version: publisher.configuration.version)
            try publisher.offer(message)
        } catch {
            switch error.code {
            case .queueFull: throw .full
            case .tooLarge: throw .tooLarge
            case .stopped: throw .closed
            default: throw .invalid
            }
        }
    }
}
#endif
