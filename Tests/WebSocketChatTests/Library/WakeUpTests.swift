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

    /// A queue with one open connection. Its context is never used.
    private func makeQueue() throws -> ServiceQueue {
        let queue = ServiceQueue(limits: TransportLimits()) { [wakes] _ in wakes.add() }
        queue.attach(try #require(OpaquePointer(bitPattern: 1)))
        queue.opened(connection)
        return queue
    }

    @Test func onlyTheFirstEntryWakesAWaitingThread() throws {
        let queue = try makeQueue()
        for _ in 0..<3 {
            #expect(queue.send([], .text, on: connection) == .accepted)
            #expect(wakes.count == 1)
        }
        #expect(queue.take().count == 3)
    }

    @Test func anAwakeThreadIsNotWoken() throws {
        let queue = try makeQueue()
        queue.awake()
        #expect(queue.send([], .text, on: connection) == .accepted)
        #expect(queue.take().count == 1)
        // While the thread performs these entries, it still has not begun to wait.
        #expect(queue.send([], .text, on: connection) == .accepted)
        #expect(queue.take().count == 1)
        #expect(wakes.count == 0)
    }

    @Test func anEntryAfterTheLastLookWakesTheThread() throws {
        let queue = try makeQueue()
        queue.awake()
        #expect(queue.take().isEmpty)
        #expect(queue.send([], .text, on: connection) == .accepted)
        #expect(wakes.count == 1)
    }

    @Test func aStopAlwaysWakesTheThread() throws {
        let queue = try makeQueue()
        queue.awake()
        queue.stop()
        queue.wake()
        #expect(wakes.count == 2)
    }
}
