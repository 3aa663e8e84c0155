import AdapterSupport
import SignalboxCore
import Synchronization
import TestSupport
import Testing

@testable import MQTTPush

/// The number of wake-ups since the last call.
private func wakeUps(_ wake: WakeSignal) -> Int {
    withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 1) { buffer in
        max(0, read(wake.readEnd, buffer.baseAddress, buffer.count))
    }
}

@Suite struct GateSinkTests {
    private let wake: WakeSignal
    private let sink: GateSink

    init() throws {
        wake = try WakeSignal()
        sink = GateSink(capacity: 4, ackDeadline: .seconds(8), wake: wake)
    }

    private func add(_ packets: UInt16...) throws -> [UInt64] {
        try packets.map { try #require(sink.add(packet: $0, bytes: 10, at: .now())) }
    }

    private func takePrefix() -> [UInt8] {
        var output = PacketOutput()
        _ = sink.takePrefix(into: &output)
        return output.bytes
    }

    /// Settles the tokens one after the other, and returns which settlements caused a wake-up. The loop waits all the
    /// time, as if a wake-up only interrupted it for a moment.
    private func wakes(_ tokens: [UInt64], _ outcome: Outcome, for awaited: GateSink.Awaited) -> [Bool] {
        tokens.map { token in
            #expect(sink.beginWaiting(after: sink.state, for: awaited))
            sink.settle(token, outcome)
            sink.endWaiting()
            return wakeUps(wake) > 0
        }
    }

    @Test func acknowledgementsLeaveInTheOrderOfArrival() throws {
        let tokens = try add(0x8001, 0, 2, 3)
        sink.mayAcknowledge(tokens[2])
        sink.settle(tokens[1], .handled(reply: nil))
        #expect(takePrefix().isEmpty)
        sink.mayAcknowledge(tokens[0])
        #expect(takePrefix() == [0x40, 2, 0x80, 1, 0x40, 2, 0, 2])
        #expect(sink.state.count == 1 && sink.state.bytes == 10 && sink.state.head == tokens[3])
        #expect(sink.contains(packet: 3) && !sink.contains(packet: 2))
    }

    @Test func anOutcomeAfterCustodyCountsOnce() throws {
        let tokens = try add(1, 2)
        sink.mayAcknowledge(tokens[0])
        sink.settle(tokens[0], .handled(reply: nil))
        sink.settle(tokens[0], .abandoned(.stop))
        #expect(sink.state.unsettled == 1 && sink.state.abandoned == 0)
        sink.settle(tokens[1], .abandoned(.ackDeadline))
        #expect(sink.state.unsettled == 0 && sink.state.abandoned == 1)
        #expect(takePrefix() == [0x40, 2, 0, 1])
    }

    @Test func anOutcomeLongAfterCustodyChangesNothing() throws {
        let tokens = try add(1, 2, 3)
        for token in tokens { sink.accepted(token) }
        #expect(takePrefix() == [0x40, 2, 0, 1, 0x40, 2, 0, 2, 0x40, 2, 0, 3])
        let later = try add(1, 2)
        sink.settle(tokens[0], .handled(reply: nil))
        #expect(sink.state.unsettled == 2 && takePrefix().isEmpty)
        // The next connection has other tokens.
        sink.reset()
        let next = try add(1, 2, 3)
        sink.settle(tokens[1], .abandoned(.kept))
        sink.settle(tokens[2], .rejected(Outcome.Rejection(.expired, detail: "")))
        for token in later { sink.settle(token, .abandoned(.stop)) }
        #expect(sink.state.unsettled == 3 && sink.state.abandoned == 0 && sink.state.lost == 0)
        sink.accepted(next[0])
        sink.settle(next[0], .abandoned(.kept))
        #expect(sink.state.abandoned == 0 && takePrefix() == [0x40, 2, 0, 1])
    }

    @Test func nothingWakesALoopThatDoesNotWait() throws {
        let tokens = try add(1, 2, 0, 3)
        sink.mayAcknowledge(tokens[0])
        sink.settle(tokens[1], .abandoned(.ackDeadline))
        sink.settle(tokens[2], .handled(reply: nil))
        #expect(takePrefix() == [0x40, 2, 0, 1] && sink.beginWaiting(after: sink.state, for: .acknowledgement))
        sink.endWaiting()
        sink.mayAcknowledge(tokens[3])
        #expect(wakeUps(wake) == 0)
    }

    @Test func onlyANewAcknowledgementWakesTheLoop() throws {
        let tokens = try add(1, 2, 3)
        #expect(wakes([tokens[2], tokens[0]], .handled(reply: nil), for: .acknowledgement) == [false, true])
        // The loop has taken the first message, and the last one is released already.
        #expect(takePrefix() == [0x40, 2, 0, 1])
        #expect(wakes([tokens[1]], .handled(reply: nil), for: .acknowledgement) == [true])
        #expect(takePrefix() == [0x40, 2, 0, 2, 0x40, 2, 0, 3])
        #expect(wakes(tokens, .handled(reply: nil), for: .acknowledgement) == [false, false, false])
    }

    @Test func oneWaitCausesAtMostOneWakeUp() throws {
        let tokens = try add(1, 2, 3, 4)
        #expect(sink.beginWaiting(after: sink.state, for: .drained(isWriting: true)))
        for token in tokens { sink.mayAcknowledge(token) }
        #expect(wakeUps(wake) == 1)
    }

    @Test func anAbandonedMessageWakesTheLoop() throws {
        // The last message arrived at QoS 0. The loop logs that it is lost.
        let tokens = try add(1, 2, 0)
        #expect(wakes(tokens, .abandoned(.ackDeadline), for: .acknowledgement) == [true, true, true])
        #expect(sink.state.abandoned == 2 && sink.state.lost == 1)
    }

    @Test func aMessageAtQoS0WakesALoopThatNeedsItsPlace() throws {
        let tokens = try add(0, 0, 0, 0)
        #expect(wakes([tokens[0]], .handled(reply: nil), for: .acknowledgement) == [false])
        #expect(sink.state.isFull && takePrefix().isEmpty && !sink.state.isFull)
        _ = try add(0)
        let limits = GateSink.Limits(unsettled: 100, bytes: .max)
        #expect(sink.state.isFull && !sink.state.hasRoom(in: limits))
        // Only the second settlement frees a place, and with it a second one.
        #expect(wakes([tokens[2], tokens[1]], .handled(reply: nil), for: .room(limits)) == [false, true])
    }

    @Test func aSettlementBehindTheFirstMessageWakesALoopThatIsHeldByTheTarget() throws {
        let tokens = try add(1, 2, 3)
        let limits = GateSink.Limits(unsettled: 2, bytes: .max)
        #expect(!sink.state.hasRoom(in: limits))
        #expect(wakes([tokens[2], tokens[1]], .handled(reply: nil), for: .room(limits)) == [false, true])
        #expect(sink.state.hasRoom(in: limits) && !sink.beginWaiting(after: sink.state, for: .room(limits)))
    }

    @Test func aSettlementBehindTheFirstMessageFreesNoBytes() throws {
        let tokens = try add(1, 2)
        let limits = GateSink.Limits(unsettled: 4, bytes: 20)
        #expect(!sink.state.hasRoom(in: limits))
        #expect(wakes([tokens[1], tokens[0]], .handled(reply: nil), for: .room(limits)) == [false, true])
    }

    @Test func theLastSettlementWakesALoopThatDrains() throws {
        let tokens = try add(1, 2, 0, 4)
        #expect(wakes([tokens[1]], .abandoned(.drain), for: .drained(isWriting: true)) == [false])
        // An acknowledgement can still be written, but not on a connection that is lost.
        let order = [tokens[0], tokens[3], tokens[2]]
        #expect(wakes([order[0]], .handled(reply: nil), for: .drained(isWriting: true)) == [true])
        #expect(!sink.beginWaiting(after: sink.state, for: .drained(isWriting: true)))
        #expect(wakes([order[1], order[2]], .handled(reply: nil), for: .drained(isWriting: false)) == [false, true])
        #expect(!sink.beginWaiting(after: sink.state, for: .drained(isWriting: false)))
    }

    @Test func aLoopDoesNotWaitForWhatHasHappened() throws {
        let tokens = try add(1, 2, 3)
        sink.mayAcknowledge(tokens[1])
        #expect(sink.beginWaiting(after: sink.state, for: .acknowledgement))
        sink.endWaiting()
        // The settlement comes after the loop has taken the prefix, and before it reads the state.
        #expect(takePrefix().isEmpty)
        sink.mayAcknowledge(tokens[0])
        #expect(!sink.beginWaiting(after: sink.state, for: .acknowledgement))
        #expect(wakeUps(wake) == 0 && !takePrefix().isEmpty)
        let seen = sink.state
        #expect(sink.beginWaiting(after: seen, for: .acknowledgement))
        sink.endWaiting()
        sink.settle(tokens[2], .abandoned(.ackDeadline))
        #expect(!sink.beginWaiting(after: seen, for: .acknowledgement))
        #expect(sink.beginWaiting(after: sink.state, for: .acknowledgement))
        #expect(wakeUps(wake) == 0)
    }

    @Test func settlementsOfEarlierConnectionsAreIgnored() throws {
        let old = try add(1, 2)
        sink.reset()
        let tokens = try add(1, 2)
        #expect(wakes(old, .abandoned(.stop), for: .acknowledgement) == [false, false])
        #expect(sink.state.unsettled == 2 && sink.state.abandoned == 0)
        sink.drop(tokens[0]..<tokens[1] + 1)
        #expect(sink.state.unsettled == 0 && sink.state.abandoned == 0 && takePrefix().isEmpty)
    }

    @Test func theTargetFollowsTheSettlements() throws {
        func deliver(_ age: Int64) throws {
            let addedAt = MonotonicTime(nanoseconds: MonotonicTime.now().nanoseconds - age)
            let tokens = try (0..<sink.state.target).map { _ in
                try #require(sink.add(packet: 1, bytes: 0, at: addedAt))
            }
            for token in tokens { sink.mayAcknowledge(token) }
            _ = takePrefix()
        }
        for target in [1, 2, 4, 4] {
            #expect(sink.state.target == target)
            try deliver(0)
        }
        try deliver(5_000_000_000)
        #expect(sink.state.target == 2)
        sink.reset()
        #expect(sink.state.target == 1)
    }
}

@Suite(.timeLimit(.minutes(5)))
struct GateSinkThreadTests {
    /// A thread that settles each token it is sent, in another order.
    private final class Settler: Sendable {
        private let tokens = Mutex<[UInt64]>([])
        private let isEnding = Mutex(false)
        private let wake: WakeSignal

        init() throws { wake = try WakeSignal() }

        func send(_ token: UInt64) {
            tokens.withLock { $0.append(token) }
            wake.wake()
        }

        func end() {
            isEnding.withLock { $0 = true }
            wake.wake()
        }

        private func take() -> [UInt64] {
            tokens.withLock { tokens in
                defer { tokens = [] }
                return tokens
            }
        }

        func run(_ sink: GateSink, seed: UInt64) {
            var random = SeededGenerator(seed: seed)
            while !isEnding.withLock({ $0 }) {
                wake.wait(for: nil)
                for token in take().shuffled(using: &random) {
                    sink.mayAcknowledge(token)
                    sink.settle(token, .handled(reply: nil))
                }
            }
        }
    }

    /// What a loop has counted.
    private struct Counts {
        var acknowledged = 0
        var waits = 0
        var wakeUps = 0
    }

    @Test(arguments: [false, true])
    func eightThreadsSettleAndNoWakeUpIsLost(_ hasMessagesAtQoS0: Bool) throws {
        let wake = try WakeSignal()
        let sink = GateSink(capacity: 100, ackDeadline: .seconds(3_600), wake: wake)
        let settlers = try (0..<8).map { _ in try Settler() }
        let threads = try settlers.enumerated().map { index, settler in
            try OwnedThread { settler.run(sink, seed: UInt64(index)) }
        }
        let counts = try run(sink, wake, settlers, messages: 20_000, hasMessagesAtQoS0)
        settlers.forEach { $0.end() }
        threads.forEach { $0.join() }
        #expect(counts.acknowledged > 9_000 && counts.wakeUps + wakeUps(wake) <= counts.waits)
        #expect(sink.state.count == 0 && sink.state.unsettled == 0 && sink.state.lost == 0)
    }

    /// Adds messages as fast as the sink allows, and waits whenever it cannot.
    private func run(
        _ sink: GateSink,
        _ wake: WakeSignal,
        _ settlers: [Settler],
        messages: Int,
        _ hasMessagesAtQoS0: Bool
    ) throws -> Counts {
        var output = PacketOutput()
        var (counts, added) = (Counts(), 0)
        var packets: [UInt16] = []
        while true {
            _ = sink.takePrefix(into: &output)
            let state = sink.state
            let limits = GateSink.Limits(unsettled: state.target, bytes: .max)
            let isEnding = added == messages
            if isEnding && state.unsettled == 0 && state.count == 0 { break }
            if !isEnding && state.hasRoom(in: limits) {
                let packet = hasMessagesAtQoS0 && added.isMultiple(of: 2) ? 0 : UInt16(added % 60_000 + 1)
                if packet != 0 { packets.append(packet) }
                let token = try #require(sink.add(packet: packet, bytes: 1, at: .now()))
                settlers[added % settlers.count].send(token)
                added += 1
                continue
            }
            let awaited: GateSink.Awaited = isEnding ? .drained(isWriting: true) : .room(limits)
            guard sink.beginWaiting(after: state, for: awaited) else { continue }
            counts.waits += 1
            var waited = pollfd(fd: wake.readEnd, events: Int16(POLLIN), revents: 0)
            try #require(poll(&waited, 1, 60_000) == 1, "no wake-up: \(sink.state)")
            counts.wakeUps += wakeUps(wake)
            sink.endWaiting()
        }
        let expected = packets.flatMap { packet -> [UInt8] in
            [0x40, 2, UInt8(packet >> 8), UInt8(truncatingIfNeeded: packet)]
        }
        let acknowledgements = output.bytes
        #expect(acknowledgements == expected)
        counts.acknowledged = packets.count
        return counts
    }
}

extension PacketOutput {
    /// The bytes that wait to be written.
    fileprivate var bytes: [UInt8] { withBytes { Array($0) } }
}
