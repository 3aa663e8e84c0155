import AdapterThreads
import SignalboxCore
import Testing

@testable import MQTTPush

@Suite struct BatchSinkTests {
    private func make(_ count: Int, generation: UInt32 = 7) throws -> (BatchSink, [UInt64]) {
        let sink = BatchSink(wake: try WakeSignal())
        sink.begin(generation: generation, count: count)
        return (sink, (0..<count).map { BatchSink.token(generation: generation, index: $0) })
    }

    @Test func aBatchIsDoneWhenEachMessageTakenWasHeardOf() throws {
        let (sink, tokens) = try make(3)
        sink.mayAcknowledge(tokens[2])
        sink.mayAcknowledge(tokens[0])
        #expect(!sink.isDone)
        sink.finishSubmitting(taken: 2)
        #expect(sink.isDone && sink.abandoned == 0)
    }

    @Test func anOutcomeAfterCustodyCountsOnce() throws {
        let (sink, tokens) = try make(2)
        sink.finishSubmitting(taken: 2)
        sink.mayAcknowledge(tokens[0])
        sink.settle(tokens[0], .handled(reply: nil))
        sink.settle(tokens[0], .abandoned(.stop))
        #expect(!sink.isDone && sink.abandoned == 0)
        sink.settle(tokens[1], .abandoned(.holdLimit))
        #expect(sink.isDone && sink.abandoned == 1)
    }

    @Test func settlementsOfAnEarlierBatchAndOfStrangersAreIgnored() throws {
        let (sink, tokens) = try make(1)
        sink.finishSubmitting(taken: 1)
        sink.begin(generation: 8, count: 1)
        sink.finishSubmitting(taken: 1)
        sink.settle(tokens[0], .abandoned(.stop))
        sink.mayAcknowledge(BatchSink.token(generation: 8, index: 1))
        sink.mayAcknowledge(UInt64.max)
        #expect(!sink.isDone && sink.abandoned == 0)
        sink.mayAcknowledge(BatchSink.token(generation: 8, index: 0))
        #expect(sink.isDone)
    }

    @Test func theLastSettlementWakesTheThread() throws {
        let wake = try WakeSignal()
        let sink = BatchSink(wake: wake)
        sink.begin(generation: 1, count: 1)
        sink.finishSubmitting(taken: 1)
        #expect(!SocketWait(socket: -1, for: .readable, wake: wake.readEnd, limit: .zero).isWoken)
        sink.mayAcknowledge(BatchSink.token(generation: 1, index: 0))
        #expect(SocketWait(socket: -1, for: .readable, wake: wake.readEnd, limit: .zero).isWoken)
        wake.drain()
        #expect(!SocketWait(socket: -1, for: .readable, wake: wake.readEnd, limit: .zero).isWoken)
    }
}
