import SignalboxCore
import Testing

@testable import WebSocketChat

@Suite struct PendingArrivalsTests {
    private static func arrivals(_ tokens: Range<Int>) -> [Arrival] {
        var batch = ArrivalBatch(pool: ArrivalPool())
        let origin = Origin(source: "chat", facts: ChatFacts(role: .server, peer: ""))
        for token in tokens {
            Array("{}".utf8).withUnsafeBytes {
                batch.append($0, token: UInt64(token), origin: origin, receivedAt: WallTime(seconds: 0))
            }
        }
        return batch.take()
    }

    @Test func partsAreTakenInOrderAcrossBatches() {
        var pending = PendingArrivals()
        #expect(pending.front.isEmpty)
        for start in stride(from: 0, to: 1_000, by: 5) { pending.append(Self.arrivals(start..<start + 5)) }
        pending.append([])
        var next = 0
        while pending.count > 0 {
            let count = min(pending.front.count, 1 + next % 4)
            #expect(pending.front.prefix(count).map(\.token) == (next..<next + count).map { UInt64($0) })
            pending.removeFirst(count)
            next += count
            #expect(pending.count == 1_000 - next)
        }
        #expect(next == 1_000 && pending.front.isEmpty)
    }

    @Test func theRestCanBeTakenAtOnce() {
        var pending = PendingArrivals()
        pending.append(Self.arrivals(0..<3))
        pending.append(Self.arrivals(3..<5))
        pending.removeFirst(2)
        #expect(pending.removeAll().map(\.token) == [2, 3, 4])
        #expect(pending.count == 0 && pending.front.isEmpty)
        pending.append(Self.arrivals(7..<8))
        #expect(pending.front.map(\.token) == [7])
    }
}
