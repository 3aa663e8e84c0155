import TestSupport
import Testing

@testable import MQTTPush

/// A ring between a broker that keeps each message until it is acknowledged, and plugins that settle in any order. Each
/// seed is another sequence of deliveries, settlements, partial writes, lost connections and reconnections.
@Suite(.timeLimit(.minutes(5)))
struct RingSimulationTests {
    /// In a debug build, a seed takes about a millisecond.
    private static let seeds = 10_000
    private static let steps = 500

    @Test(arguments: 0..<10)
    func noAcknowledgementIsEarlyOutOfOrderOrLost(_ part: Int) throws {
        let size = RingSimulationTests.seeds / 10
        var delivered = 0
        for seed in part * size..<(part + 1) * size {
            var simulation = RingSimulation(seed: UInt64(seed))
            for _ in 0..<RingSimulationTests.steps { simulation.step() }
            simulation.finish()
            if let fault = simulation.fault {
                Issue.record("seed \(seed): \(fault)")
                return
            }
            delivered += simulation.acknowledged
        }
        // Otherwise, the simulation exercises too little.
        #expect(delivered > size * 20)
    }
}

/// The broker's side of a session (MQTT 5.0, 4.1): the messages that it keeps, and what it has sent on this connection.
private struct ModelBroker {
    struct Message {
        let number: Int
        /// 0 at QoS 0.
        var packet: UInt16
        var isSent = false
    }

    /// In the order in which they are sent. At QoS 1, a message stays until it is acknowledged.
    private(set) var messages: [Message] = []
    private var published = 0
    private var freePackets: [UInt16]

    /// So few identifiers that each is soon used again. The last one that became free is used next.
    init(packets: UInt16) { freePackets = Array((1...packets).reversed()) }

    var isEmpty: Bool { messages.isEmpty }

    mutating func publish(atQoS0: Bool) {
        messages.append(Message(number: published, packet: 0))
        published += 1
        guard !atQoS0 else { return }
        guard let packet = freePackets.popLast() else {
            messages.removeLast()
            return
        }
        messages[messages.count - 1].packet = packet
    }

    /// Sends the next message. It is gone if it is sent at QoS 0.
    mutating func send() -> Message? {
        guard let index = messages.firstIndex(where: { !$0.isSent }) else { return nil }
        messages[index].isSent = true
        return messages[index].packet == 0 ? messages.remove(at: index) : messages[index]
    }

    /// - Returns: The acknowledged message, or `nil` if it is not the first one that waits for an acknowledgement.
    mutating func acknowledge(_ packet: UInt16) -> Message? {
        guard let index = messages.firstIndex(where: { $0.packet != 0 }), messages[index].isSent,
            messages[index].packet == packet
        else { return nil }
        freePackets.append(packet)
        return messages.remove(at: index)
    }

    mutating func connect() {
        for index in messages.indices { messages[index].isSent = false }
    }
}

private struct RingSimulation {
    /// A message in the ring, or one that a plugin still has from an earlier connection.
    private struct Delivery {
        let message: ModelBroker.Message
        let token: UInt64
        var settlement: AcknowledgementRing.Settlement?
    }

    /// What went wrong first.
    private(set) var fault: String?
    private(set) var acknowledged = 0
    private var random: SeededGenerator
    private var broker: ModelBroker
    private var ring: AcknowledgementRing
    /// The same as the ring, but simple.
    private var model: [Delivery] = []
    private var (abandoned, lost) = (0, 0)
    /// The acknowledgements that are not written yet.
    private var output: [UInt16] = []
    private var earlier: [UInt64] = []
    private var handled: Set<Int> = []
    private var isOpen = true
    private let capacity: Int

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        capacity = Int.random(in: 1...6, using: &random)
        broker = ModelBroker(packets: UInt16(capacity + 1))
        ring = AcknowledgementRing(capacity: capacity, head: UInt64.random(in: 0...3, using: &random) << 44 &- 2)
    }

    // `Int.random` takes most of the time in a debug build. The bias does not matter here.
    private mutating func number(below bound: Int) -> Int { Int(random.next() >> 33) % bound }

    private mutating func expect(_ condition: Bool, _ text: StaticString) {
        if !condition && fault == nil { fault = "\(text); \(model), \(output), \(broker.messages)" }
    }

    // MARK: - Steps

    mutating func step() {
        switch number(below: 100) {
        case 0..<12: broker.publish(atQoS0: number(below: 4) == 0)
        case 12..<40: deliver()
        case 40..<70: settle(at: number(below: max(1, model.count)), abandons: number(below: 40) == 0)
        case 70..<85: flush(number(below: 3) == 0 ? number(below: 3) : .max)
        case 85..<95: write(number(below: capacity + 1))
        case 95: repeatAPacket()
        case 96: settleATokenOfAnEarlierConnection()
        case 97: if number(below: 4) == 0 { disconnect() }
        default: if !isOpen || abandoned > 0 { connect() }
        }
        compare()
    }

    /// Nothing fails any more: each message that the broker keeps must now be handled and acknowledged.
    mutating func finish() {
        connect()
        for _ in 0..<1_000 where fault == nil && !(broker.isEmpty && model.isEmpty && output.isEmpty) {
            deliver()
            settle(at: model.count - 1, abandons: false)
            if number(below: 4) == 0 { model.indices.forEach { settle(at: $0, abandons: false) } }
            flush(.max)
            write(.max)
            compare()
        }
        expect(broker.isEmpty && model.isEmpty, "the broker keeps messages")
    }

    private mutating func deliver() {
        // After an abandoned message, the loop reads nothing more.
        guard isOpen, abandoned == 0, !ring.isFull, let message = broker.send() else { return }
        expect(!ring.contains(packet: message.packet), "a packet identifier is not free")
        let token = ring.add(packet: message.packet, bytes: message.number, at: MonotonicTime(nanoseconds: 0))
        guard let token else {
            expect(false, "the ring refused a message")
            return
        }
        model.append(Delivery(message: message, token: token))
    }

    private mutating func settle(at index: Int, abandons: Bool) {
        guard index >= 0 && index < model.count else { return }
        let delivery = model[index]
        let effect = ring.settle(delivery.token, abandons ? .abandoned : .released)
        guard delivery.settlement == nil else {
            expect(effect == .ignored, "a second settlement counts")
            return
        }
        let before = prefix
        if abandons && delivery.message.packet != 0 {
            model[index].settlement = .abandoned
            abandoned += 1
            expect(effect == .abandoned, "wrong effect of abandoning")
        } else {
            model[index].settlement = .released
            handled.insert(delivery.message.number)
            if abandons { lost += 1 }
            let grew = prefix.dropFirst(before.count).contains { $0.message.packet != 0 }
            expect(effect == (grew ? .prefixGrew : .settled), "wrong effect of releasing")
        }
    }

    private var prefix: ArraySlice<Delivery> { model.prefix { $0.settlement == .released } }

    private mutating func flush(_ most: Int) {
        guard isOpen else { return }
        var taken: [(packet: UInt16, token: UInt64)] = []
        let count = ring.takePrefix(most) { taken.append(($0, $1)) }
        let expected = Array(prefix.prefix(most))
        model.removeFirst(expected.count)
        expect(
            count == taken.count && taken.map(\.token) == expected.map(\.token)
                && taken.map(\.packet) == expected.map(\.message.packet),
            "took another prefix"
        )
        output += taken.map(\.packet).filter { $0 != 0 }
        earlier += taken.map(\.token)
    }

    private mutating func write(_ most: Int) {
        guard isOpen else { return }
        for packet in output.prefix(most) {
            let message = broker.acknowledge(packet)
            expect(message != nil, "an acknowledgement is out of order")
            expect(message.map { handled.contains($0.number) } ?? true, "an acknowledgement is early")
            acknowledged += 1
        }
        output.removeFirst(min(most, output.count))
    }

    /// The broker sends a message again on the same connection, or a new one with an identifier in use.
    private mutating func repeatAPacket() {
        guard !model.isEmpty else { return }
        let packet = model[number(below: model.count)].message.packet
        expect(ring.contains(packet: packet) == (packet != 0), "a repeated packet is not recognized")
    }

    private mutating func settleATokenOfAnEarlierConnection() {
        guard !earlier.isEmpty else { return }
        let token = earlier[number(below: earlier.count)]
        expect(ring.settle(token, .released) == .ignored, "an earlier token was settled")
    }

    private mutating func disconnect() {
        isOpen = false
        output = []
    }

    private mutating func connect() {
        // What the plugins still have is settled after the connection's end.
        earlier += model.map(\.token)
        (model, output, abandoned, lost, isOpen) = ([], [], 0, 0, true)
        ring.reset()
        broker.connect()
    }

    private mutating func compare() {
        var (unsettled, bytes) = (0, 0)
        for delivery in model {
            if delivery.settlement == nil { unsettled += 1 }
            bytes += delivery.message.number
        }
        expect(ring.unsettled == unsettled && ring.count == model.count, "wrong number of messages")
        expect(ring.abandoned == abandoned && ring.lost == lost, "wrong number of abandoned messages")
        expect(ring.bytes == bytes, "wrong size")
        expect(ring.hasPrefix == (model.first?.settlement == .released), "wrong prefix")
        expect(ring.isFull == (model.count == capacity), "wrong room")
        expect(model.isEmpty || model[0].token == ring.head, "wrong head")
    }
}
