/// Remembers topics' routes by the topic's bytes, so that a message on a known topic costs neither a `String` nor a
/// match.
///
/// Bounded: when `bound` routes are remembered and another topic comes, all are forgotten. The hash is seeded per
/// process, so that a publisher cannot choose topics that collide.
struct RouteCache {
    private let configuration: MQTTPushConfiguration
    private let bound: Int
    private let mask: Int
    private var slots: [PushRoute?]
    private var last: PushRoute?
    private(set) var count = 0

    init(configuration: MQTTPushConfiguration) {
        self.configuration = configuration
        bound = configuration.rememberedTopics
        var size = 4
        while size < 2 * bound { size *= 2 }
        mask = size - 1
        slots = Array(repeating: nil, count: size)
    }

    mutating func route(topic: UnsafeRawBufferPointer, retained: Bool, qos: Int32) -> PushRoute {
        if let last, last.isFor(topic, retained: retained, qos: qos) { return last }
        var slot = RouteCache.hash(topic, retained, qos) & mask
        while let known = slots[slot] {
            if known.isFor(topic, retained: retained, qos: qos) {
                last = known
                return known
            }
            slot = (slot + 1) & mask
        }
        let route = PushRoute(topic: Array(topic), retained: retained, qos: qos, configuration: configuration)
        if count == bound {
            for index in slots.indices { slots[index] = nil }
            count = 0
            slot = RouteCache.hash(topic, retained, qos) & mask
        }
        slots[slot] = route
        count += 1
        last = route
        return route
    }

    private static func hash(_ topic: UnsafeRawBufferPointer, _ retained: Bool, _ qos: Int32) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: topic)
        hasher.combine(qos << 1 | (retained ? 1 : 0))
        return hasher.finalize()
    }
}
