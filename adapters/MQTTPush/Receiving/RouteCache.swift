#if MQTT
/// Caches routes by the bytes of their topics, so that a message on a known topic requires neither creating a `String`
/// nor matching patterns.
///
/// The cache is bounded. When it holds `bound` routes, a new one replaces one that no message has used for a while, so
/// that topics with many messages stay when messages on ever new topics come. Of the topics longer than
/// ``longestTopic``, only the most recent one is kept. The hash uses a random seed in each process, so publishers
/// cannot choose topics that collide.
struct RouteCache {
    /// The maximum length, in bytes, of a topic that is cached together with others.
    static let longestTopic = 1_024

    private let configuration: MQTTPushConfiguration
    private let former: [MQTTTopic]
    private let identifiers: TopicIdentifiers
    private let bound: Int
    private let mask: Int
    /// A hash table with open addressing, which is at most half full.
    private var slots: [Entry?]
    /// The slot at which the search for the next route to replace begins.
    private var hand = 0
    private var last: PushRoute?
    private(set) var count = 0
    /// The approximate memory used by routes created since ``resetCreatedBytes()``. Their messages keep these routes
    /// alive.
    private(set) var createdBytes = 0

    private struct Entry {
        let route: PushRoute
        /// The slot at which the search for the route begins.
        let home: Int
        /// Whether a message has used the route since the hand last passed it.
        var isUsed = false
    }

    /// - Parameters:
    ///   - former: The removed topics whose messages may still arrive.
    ///   - identifiers: The subscription identifiers of the configuration's topics.
    init(configuration: MQTTPushConfiguration, former: [MQTTTopic] = [], identifiers: TopicIdentifiers) {
        self.configuration = configuration
        self.former = former
        self.identifiers = identifiers
        bound = configuration.cachedTopics
        var size = 4
        while size < 2 * bound { size *= 2 }
        mask = size - 1
        slots = Array(repeating: nil, count: size)
    }

    /// Returns the route of a message. Its subscription identifier makes it faster to find the route of a new topic, and
    /// does not change the route.
    mutating func route(of message: BrokerMessage) -> PushRoute {
        let (topic, retained, qos) = (message.topic, message.isRetained, message.qos)
        if let last, last.isFor(topic, retained: retained, qos: qos) { return last }
        let route = topic.count > RouteCache.longestTopic ? create(message) : find(message)
        last = route
        return route
    }

    mutating func resetCreatedBytes() {
        createdBytes = 0
    }

    private mutating func create(_ message: BrokerMessage) -> PushRoute {
        let route = PushRoute(
            topic: Array(message.topic),
            retained: message.isRetained,
            qos: message.qos,
            configuration: configuration,
            former: former,
            suggested: message.subscription == 0 ? nil : identifiers.topic(message.subscription)
        )
        createdBytes += route.memoryEstimate
        return route
    }

    private mutating func find(_ message: BrokerMessage) -> PushRoute {
        let (topic, retained, qos) = (message.topic, message.isRetained, message.qos)
        let home = RouteCache.hash(topic, retained, qos) & mask
        var slot = home
        while let known = slots[slot]?.route {
            if known.isFor(topic, retained: retained, qos: qos) {
                slots[slot]?.isUsed = true
                return known
            }
            slot = (slot + 1) & mask
        }
        if count == bound {
            evict()
            slot = home
            while slots[slot] != nil { slot = (slot + 1) & mask }
        }
        let route = create(message)
        slots[slot] = Entry(route: route, home: home)
        count += 1
        return route
    }

    /// Removes the next route that has not been used since the hand last passed it. The hand passes a used route once for
    /// each time that it was marked, so the cost of an eviction is constant on average.
    private mutating func evict() {
        while true {
            if slots[hand]?.isUsed == false { return remove(at: hand) }
            slots[hand]?.isUsed = false
            hand = (hand + 1) & mask
        }
    }

    /// Empties a slot, and closes the gap that this leaves in the searches that pass it.
    private mutating func remove(at slot: Int) {
        var gap = slot
        var next = (slot + 1) & mask
        while let entry = slots[next] {
            // An entry between its home and its slot cannot move before its home.
            if (next - entry.home) & mask >= (next - gap) & mask {
                slots[gap] = entry
                gap = next
            }
            next = (next + 1) & mask
        }
        slots[gap] = nil
        count -= 1
    }

    private static func hash(_ topic: UnsafeRawBufferPointer, _ retained: Bool, _ qos: Int32) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: topic)
        hasher.combine(qos << 1 | (retained ? 1 : 0))
        return hasher.finalize()
    }
}
#endif
