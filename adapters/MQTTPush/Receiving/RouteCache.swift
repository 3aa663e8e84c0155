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
