import SignalboxCore
import TestSupport
import Testing

@testable import JSBridge

/// The messages that wait for a page, from which calls can be withdrawn.
@Suite struct PageQueueTests {
    private static func message(_ number: UInt64, _ body: String = "1") -> PageMessage {
        PageMessage("ask", id: nil, body: Bytes(body), number: number)
    }

    /// Ten thousand calls that end in any order. A search for each of them would visit the messages before it.
    @Test func withdrawingCallsVisitsFewMessages() {
        var random = SeededGenerator(printing: 4)
        var queue = PageQueue()
        for number in 1...10_000 as ClosedRange<UInt64> { queue.append(Self.message(number)) }
        for number in (1...10_000 as ClosedRange<UInt64>).shuffled(using: &random) { queue.withdraw(number) }
        #expect(queue.isEmpty && queue.visited <= 40_000)
        let rest = queue.take(atMost: .max, bytes: .max)
        #expect(rest.isEmpty)
    }

    @Test func theOtherMessagesStayInOrder() {
        var random = SeededGenerator(printing: 5)
        var queue = PageQueue()
        var expected: [UInt64] = []
        for number in 1...5_000 as ClosedRange<UInt64> {
            queue.append(Self.message(number))
            expected.append(number)
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                let withdrawn = UInt64.random(in: 1...number, using: &random)
                queue.withdraw(withdrawn)
                expected.removeAll { $0 == withdrawn }
            case 2:
                let taken = queue.take(atMost: 2, bytes: .max).map(\.number)
                #expect(taken == Array(expected.prefix(2)))
                expected.removeFirst(taken.count)
            default: break
            }
            #expect(queue.count == expected.count)
        }
        let rest = queue.take(atMost: .max, bytes: .max).map(\.number)
        #expect(rest == expected && queue.isEmpty)
    }

    @Test func theSizeLimitAlwaysAdmitsOneMessage() {
        var queue = PageQueue()
        for (number, length) in [7, 2, 1, 2, 9].enumerated() {
            queue.append(Self.message(UInt64(number + 1), String(repeating: "1", count: length)))
        }
        queue.withdraw(3)
        let taken = (0..<3).map { _ in queue.take(atMost: 9, bytes: 5).map(\.number) }
        #expect(taken == [[1], [2, 4], [5]])
    }

    @Test func onlyCallsAreWithdrawn() {
        var queue = PageQueue()
        for number in [0, 1, 0, 2, 0] as [UInt64] { queue.append(Self.message(number)) }
        queue.withdraw(0)
        queue.withdraw(7)
        let (calls, left) = (queue.withdrawCalls(), queue.count)
        let rest = queue.take(atMost: .max, bytes: .max).map(\.number)
        #expect(calls == [1, 2] && left == 3 && rest == [0, 0, 0])
    }
}
