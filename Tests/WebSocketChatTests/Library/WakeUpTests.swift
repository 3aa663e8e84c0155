import Synchronization
import Testing

@testable import WebSocketChat

/// When a queue wakes the thread of its service.
@Suite struct WakeUpTests {
    private final class Wakes: Sendable {
        private let number = Atomic<Int>(0)

        var count: Int { number.load(ordering: .relaxed) }

        func add() { number.wrappingAdd(1, ordering: .relaxed) }
    }

    private let wakes = Wakes()
    private let connection = ConnectionID.next()

    /// A queue with one open connection.
    private func makeQueue() -> ServiceQueue {
        let queue = ServiceQueue(limits: TransportLimits())
        queue.attach { [wakes] in wakes.add() }
        queue.opened(connection)
        return queue
    }

    @Test func onlyTheFirstEntryWakesAWaitingThread() {
        let queue = makeQueue()
        for _ in 0..<3 {
            #expect(queue.send([], .text, on: connection) == .accepted)
            #expect(wakes.count == 1)
        }
        #expect(queue.take().count == 3)
    }

    @Test func anAwakeThreadIsNotWoken() {
        let queue = makeQueue()
        queue.awake()
        #expect(queue.send([], .text, on: connection) == .accepted)
        #expect(queue.take().count == 1)
        // While the thread performs these entries, it still has not begun to wait.
        #expect(queue.send([], .text, on: connection) == .accepted)
        #expect(queue.take().count == 1)
        #expect(wakes.count == 0)
    }

    @Test func anEntryAfterTheLastLookWakesTheThread() {
        let queue = makeQueue()
        queue.awake()
        #expect(queue.take().isEmpty)
        #expect(queue.send([], .text, on: connection) == .accepted)
        #expect(wakes.count == 1)
    }

    @Test func aStopAlwaysWakesTheThread() {
        let queue = makeQueue()
        queue.awake()
        queue.stop()
        queue.wake()
        #expect(wakes.count == 2)
    }
}
