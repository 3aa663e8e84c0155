import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import Signalbox

@Suite struct DeduplicationTableTests {
    private static let hash = SeededHash()
    private static let sink = RecordingSink()

    /// A table with a current tick, and shorthands for its calls.
    private struct Trial {
        var table: DeduplicationTable
        var now: UInt64 = 0

        init(count: Int = 10, ticks: UInt64 = 100, bytes: Int = 100) {
            table = DeduplicationTable(count: count, ticks: ticks, bytes: bytes)
        }

        mutating func check(_ id: String, content: UInt64 = 0, _ arrival: Arrival = DeduplicationTableTests.arrival)
            -> DeduplicationDecision
        {
            table.forgetExpired(at: now)
            return table.check(key(id), content: content, arrival, sink: DeduplicationTableTests.sink)
        }

        mutating func settle(
            _ id: String,
            _ arrival: Arrival = DeduplicationTableTests.arrival,
            isHandled: Bool = true,
            reply: String? = nil
        ) -> Int {
            let hash = key(id).fast
            guard isHandled else { return table.forget(arrival, hash).count }
            return table.settle(arrival, hash, reply: reply.map { Bytes($0) }, at: now).count
        }

        mutating func handle(_ id: String, reply: String? = nil) {
            #expect(check(id) == .first)
            #expect(settle(id, reply: reply) == 0)
        }

        /// Returns the given ids that the table remembers.
        func remembered(_ ids: [String]) -> [String] { ids.filter { table.peek(key($0), content: 0) != .first } }

        private func key(_ id: String) -> DeduplicationKey {
            Array(id.utf8).withUnsafeBytes { DeduplicationKey($0, of: nil, DeduplicationTableTests.hash) }
        }
    }

    private static let arrival = arrivals([message("x", id: "1")])[0]

    @Test func anIDIsRunningThenHandled() {
        var trial = Trial()
        #expect(trial.check("a") == .first)
        #expect(trial.check("a") == .coalesced)
        #expect(trial.check("a") == .coalesced)
        #expect(trial.settle("a", reply: "1") == 2)
        #expect(trial.check("a") == .duplicate(reply: Bytes("1")))
        #expect(trial.check("b") == .first)
    }

    @Test func anUnhandledIDIsForgotten() {
        var trial = Trial()
        #expect(trial.check("a") == .first)
        #expect(trial.check("a") == .coalesced)
        #expect(trial.settle("a", isHandled: false) == 1)
        #expect(trial.check("a") == .first)
        #expect(trial.settle("a", isHandled: false) == 0)
    }

    @Test func differentContentIsAConflictDuringAndAfterTheCall() {
        var trial = Trial()
        #expect(trial.check("a", content: 1) == .first)
        #expect(trial.check("a", content: 2) == .conflict)
        #expect(trial.settle("a") == 0)
        #expect(trial.check("a", content: 2) == .conflict)
        #expect(trial.check("a", content: 1) == .duplicate(reply: nil))
    }

    @Test func onlyTheRunningArrivalSettlesItsID() {
        var trial = Trial()
        let batch = arrivals([message("x", id: "a"), message("x", id: "a")])
        #expect(trial.check("a", batch[0]) == .first)
        #expect(trial.check("a", batch[1]) == .coalesced)
        #expect(trial.settle("a", batch[1], isHandled: false) == 0)
        #expect(trial.settle("a", arrivals([message("x", id: "a")])[0]) == 0)
        #expect(trial.check("a") == .coalesced)
        #expect(trial.settle("a", batch[0]) == 2)
        #expect(trial.settle("a", batch[0], isHandled: false) == 0)
        #expect(trial.check("a") == .duplicate(reply: nil))
    }

    @Test func theCountLimitEvictsTheOldestHandledID() {
        var trial = Trial(count: 3)
        for id in ["a", "b", "c"] { trial.handle(id) }
        #expect(trial.check("d") == .first)
        #expect(trial.remembered(["a", "b", "c", "d"]) == ["b", "c", "d"])
        #expect(trial.check("a") == .first)
        #expect(trial.remembered(["a", "b", "c", "d"]) == ["a", "c", "d"])
    }

    @Test func runningIDsAreNotEvictedWhenTheTableIsFull() {
        var trial = Trial(count: 2)
        #expect(trial.check("a") == .first)
        trial.handle("b")
        #expect(trial.check("c") == .first)
        #expect(trial.remembered(["a", "b", "c"]) == ["a", "c"])
        #expect(trial.check("d") == .first)
        #expect(trial.check("d") == .first)
        #expect(trial.settle("d") == 0)
        #expect(trial.remembered(["a", "b", "c", "d"]) == ["a", "c"])
        #expect(trial.check("a") == .coalesced)
        #expect(trial.settle("a") == 1)
        #expect(trial.check("d") == .first)
        #expect(trial.remembered(["a", "b", "c", "d"]) == ["c", "d"])
    }

    @Test func theTimeLimitStartsWhenAnIDIsHandled() {
        var trial = Trial(ticks: 5)
        #expect(trial.check("a") == .first)
        trial.now = 50
        #expect(trial.check("a") == .coalesced)
        #expect(trial.settle("a") == 1)
        trial.now = 52
        trial.handle("b")
        trial.now = 54
        #expect(trial.check("a") == .duplicate(reply: nil))
        trial.now = 55
        trial.table.forgetExpired(at: 55)
        #expect(trial.remembered(["a", "b"]) == ["b"])
        // A thread that reads an earlier tick changes nothing.
        trial.now = 1
        #expect(trial.check("b") == .duplicate(reply: nil))
    }

    @Test func theByteLimitEvictsTheOldestIDsWithReplies() {
        var trial = Trial(bytes: 10)
        trial.handle("none")
        trial.handle("four", reply: "1234")
        trial.handle("empty", reply: "")
        trial.handle("five", reply: "12345")
        #expect(trial.table.replyBytes == 9)
        trial.handle("six", reply: "123456")
        #expect(trial.remembered(["none", "four", "empty", "five", "six"]) == ["none", "empty", "six"])
        #expect(trial.table.replyBytes == 6)
        trial.handle("more", reply: "1234")
        #expect(trial.remembered(["none", "empty", "six", "more"]) == ["none", "empty", "six", "more"])
    }

    @Test func anOversizedReplyEvictsNoOtherID() {
        var trial = Trial(bytes: 4)
        trial.handle("a", reply: "1234")
        trial.handle("b", reply: "12345")
        #expect(trial.remembered(["a", "b"]) == ["a"])
        #expect(trial.table.replyBytes == 4)
    }

    @Test func anIDHandledAgainIsNotForgottenWithItsFirstReply() {
        var trial = Trial(ticks: 10, bytes: 10)
        trial.handle("none")
        trial.handle("a", reply: "123456")
        trial.handle("b", reply: "123456")
        #expect(trial.remembered(["none", "a", "b"]) == ["none", "b"])
        trial.now = 5
        trial.handle("a")
        trial.now = 10
        trial.table.forgetExpired(at: 10)
        #expect(trial.remembered(["none", "a", "b"]) == ["a"])
        #expect(trial.table.replyBytes == 0 && trial.table.replies.isEmpty)
    }

    @Test func theByteLimitDoesNotLeaveRecordsWithoutBound() {
        var trial = Trial(count: 10, ticks: 1_000_000, bytes: 10)
        trial.handle("none")
        for number in 0..<1_000 {
            trial.handle("\(number)", reply: "123456")
            #expect(trial.table.handled.count <= 21 && trial.table.replies.count == 1)
        }
        #expect(trial.remembered(["none", "998", "999"]) == ["none", "999"])
    }

    /// The table's lists stay consistent as entries are forgotten.
    @Test func randomUseStaysWithinTheLimits() {
        var trial = Trial(count: 50, ticks: 40, bytes: 200)
        var random = SeededGenerator(seed: 7)
        var running: [String] = []
        for _ in 0..<20_000 {
            trial.now += UInt64.random(in: 0...1, using: &random)
            let id = "\(Int.random(in: 0..<200, using: &random))"
            if running.count < 20, trial.check(id) == .first, trial.remembered([id]) == [id] { running.append(id) }
            if Int.random(in: 0..<2, using: &random) == 0, let last = running.popLast() {
                let reply = String(repeating: "r", count: Int.random(in: 0..<40, using: &random))
                _ = trial.settle(last, isHandled: Int.random(in: 0..<4, using: &random) > 0, reply: reply)
            }
            #expect(trial.table.slots.count <= 50 && trial.table.replyBytes <= 200)
        }
        #expect(trial.table.handled.count <= 101 && trial.table.replies.count <= 50)
        trial.table.forgetExpired(at: trial.now + 100)
        #expect(trial.table.slots.count == running.count)
        #expect(trial.table.replyBytes == 0)
        #expect(trial.table.handled.isEmpty && trial.table.replies.isEmpty)
    }

    @Test func aHandledIDDoesNotRetainItsBatch() {
        var trial = Trial()
        var batch = arrivals([message("x", id: "a"), message("x", id: "a")])
        weak let storage = batch[0].storage
        _ = trial.check("a", batch[0])
        _ = trial.check("a", batch[1])
        _ = trial.settle("a", batch[0], reply: "1")
        batch = []
        #expect(storage == nil)
        #expect(trial.check("a") == .duplicate(reply: Bytes("1")))
    }

    @Test func anEntryTakes48Bytes() {
        #expect(MemoryLayout<DeduplicationEntry>.stride == 48)
    }

    /// The second id takes the place of the first, whose record must not forget it.
    @Test func aPlaceThatIsUsedAgainKeepsItsNewID() {
        var trial = Trial(ticks: 10, bytes: 10)
        trial.handle("none")
        trial.handle("a", reply: "123456")
        trial.handle("b", reply: "123456")
        trial.now = 5
        trial.handle("c")
        trial.now = 10
        trial.table.forgetExpired(at: 10)
        #expect(trial.remembered(["none", "a", "b", "c"]) == ["c"])
    }
}
