import TestSupport
import Testing

@testable import MQTTPush

/// Processes that receive, settle and acknowledge messages in random order, lose connections, and are killed at every
/// point between two writes. A naive model says what the file must contain.
@Suite struct DeliverySimulationTests {
    @Test(arguments: 0..<8) func theFileListsTheMessagesInFlightAfterEachWrite(_ part: UInt64) {
        for seed in part * 40..<part * 40 + 40 {
            var simulation = DeliverySimulation(seed: seed)
            for _ in 0..<8 { simulation.runProcess() }
            #expect(simulation.problems.isEmpty, "seed \(seed): \(simulation.problems.prefix(3))")
        }
    }
}

private struct DeliverySimulation {
    struct Message: Equatable {
        let token: UInt64
        let fingerprint: MessageFingerprint?
        var isSettled = false
    }

    /// What a file lists.
    struct Content: Equatable {
        var inFlight: [MessageFingerprint] = []
        var suspects: [DeliveryRecord.Suspect] = []
    }

    private(set) var problems: [String] = []
    private var random: SeededGenerator
    private var image = DeliveryImage()
    private var record = DeliveryRecord()
    private var capacity = 1

    /// The messages in the acknowledgement ring.
    private var ring: [Message] = []
    /// The messages in flight: the ring, and before it those whose acknowledgements are not written.
    private var recorded: [Message] = []
    private var suspects: [DeliveryRecord.Suspect] = []
    private var next: UInt64 = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        if chance(3) { image = DeliveryImage(bytes: versionOne) }
    }

    private mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

    /// Runs a process until a kill. Each process may have another capacity.
    mutating func runProcess() {
        start()
        for _ in 0..<Int.random(in: 0...60, using: &random) {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4: receive()
            case 4..<7: settle()
            case 7: acknowledge()
            case 8: if chance(3) { reconnect() }
            default: if chance(8) { clearSuspects() }
            }
        }
        // Half of the processes are killed between two writes of their last change.
        if chance(2) { receive(isKilled: true) }
    }

    private mutating func start() {
        capacity = Int.random(in: 1...6, using: &random)
        let before = DeliveryRecord(image.bytes)
        record = (before ?? DeliveryRecord()).afterCrash(capacity: capacity)
        let old = Content(inFlight: before?.inFlight ?? [], suspects: before?.suspects ?? [])
        suspects = old.suspects
        for fingerprint in Set(old.inFlight).sorted(by: old.inFlight) {
            if let index = suspects.firstIndex(where: { $0.fingerprint == fingerprint }) {
                suspects[index].crashes += 1
            } else {
                suspects.append(DeliveryRecord.Suspect(fingerprint: fingerprint, crashes: 1))
            }
        }
        (ring, recorded, next) = ([], [], UInt64.random(in: 0..<9, using: &random) << 44)
        write(record.whole(), "start", [old, expected])
        check("after the start", [expected])
    }

    private var expected: Content {
        Content(inFlight: Array(recorded.compactMap(\.fingerprint).suffix(capacity)), suspects: suspects)
    }

    private mutating func receive(isKilled: Bool = false) {
        let room = capacity - ring.count
        guard room > 0 else { return }
        let new = (0..<UInt64.random(in: 1...UInt64(room), using: &random)).map { offset in
            let packet = UInt16.random(in: 0...9, using: &random)
            let fingerprint = MessageFingerprint(packetID: packet, checksum: 1)
            return Message(token: next + offset, fingerprint: packet > 7 ? nil : fingerprint)
        }
        let old = expected
        let held = ring.compactMap(\.fingerprint)
        var parts = record.begin(from: next, new.map(\.fingerprint))
        ring += new
        recorded += new
        next += UInt64(new.count)
        if isKilled, !parts.isEmpty { parts.removeLast(Int.random(in: 1...parts.count, using: &random)) }
        // Before the header, the file may lack messages that are settled, because new ones take their slots.
        let olds = (0...old.inFlight.count - held.count).map { missing in
            Content(inFlight: Array(old.inFlight.dropFirst(missing)), suspects: suspects)
        }
        write(parts, "receive", olds + [expected])
        if !isKilled { check("before the submit", [expected]) }
    }

    /// Settles a message, and takes the settled ones at the front out of the ring.
    private mutating func settle() {
        guard let index = ring.indices.randomElement(using: &random) else { return }
        ring[index].isSettled = true
        while ring.first?.isSettled == true { ring.removeFirst() }
    }

    private mutating func acknowledge() {
        let head = ring.first?.token ?? next
        let old = expected
        let settled = recorded.filter { $0.token < head }.compactMap(\.fingerprint)
        recorded.removeAll { $0.token < head }
        suspects.removeAll { settled.contains($0.fingerprint) }
        write(record.settle(upTo: head), "acknowledge", [old, expected])
        check("after the acknowledgement", [expected])
    }

    private mutating func reconnect() {
        let old = expected
        (ring, recorded, next) = ([], [], (next >> 44 + 1) << 44)
        write(record.drain(), "reconnect", [old, expected])
        check("after the reconnection", [expected])
    }

    private mutating func clearSuspects() {
        let old = expected
        suspects.removeAll { $0.fingerprint.packetID != 0 }
        write(record.clearSuspects(), "clear", [old, expected])
        check("after the clearing", [expected])
    }

    private mutating func write(_ parts: [DeliveryWrite], _ name: String, _ allowed: [Content]) {
        var found: [String] = []
        for part in parts {
            image.apply(part) { image in
                let record = DeliveryRecord(image.bytes)
                let content = Content(inFlight: record?.inFlight ?? [], suspects: record?.suspects ?? [])
                if !allowed.contains(content) { found.append("\(name): \(content), not one of \(allowed)") }
            }
        }
        problems += found
    }

    private mutating func check(_ name: String, _ allowed: [Content]) {
        let record = DeliveryRecord(image.bytes)
        let content = Content(inFlight: record?.inFlight ?? [], suspects: record?.suspects ?? [])
        if !allowed.contains(content) { problems.append("\(name): \(content), not one of \(allowed)") }
    }
}

extension Set<MessageFingerprint> {
    /// The elements in the order of their first occurrence.
    fileprivate func sorted(by list: [MessageFingerprint]) -> [MessageFingerprint] {
        list.indices.filter { list.firstIndex(of: list[$0]) == $0 }.map { list[$0] }
    }
}
