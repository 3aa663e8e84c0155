import AdapterSupport
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1)))
struct PromiseTests {
    @Test func theFirstValueWins() async {
        let promise = Promise<Int>()
        promise.set(1)
        promise.set(2)
        #expect(await promise.value() == 1)
        #expect(await promise.valueUnlessCancelled() == 1)
        #expect(await Promise(3).value() == 3)
    }

    @Test func everyWaiterGetsTheValue() async {
        let promise = Promise<Int>()
        async let first = promise.value()
        async let second = promise.valueUnlessCancelled()
        async let third = promise.value()
        promise.set(7)
        #expect(await [first, second, third] == [7, 7, 7])
    }

    @Test func cancellationEndsOnlyTheWaitOfItsTask() async {
        let promise = Promise<Int>()
        let cancelled = Task { await promise.valueUnlessCancelled() }
        let other = Task { await promise.valueUnlessCancelled() }
        let steadfast = Task { await promise.value() }
        cancelled.cancel()
        steadfast.cancel()
        #expect(await cancelled.value == nil)
        promise.set(1)
        #expect(await other.value == 1)
        #expect(await steadfast.value == 1)
    }

    @Test func aWaitInACancelledTaskEndsAtOnceUnlessThereIsAValue() async {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return [await Promise<Int>().valueUnlessCancelled(), await Promise(1).valueUnlessCancelled()]
        }
        #expect(await task.value == [nil, 1])
    }

    @Test func aPromiseOfAnOptionalTellsItsValueFromACancellation() async {
        let promise = Promise<Int?>()
        promise.set(nil)
        #expect(await promise.valueUnlessCancelled() == .some(nil))
    }

    @Test func anOwnThreadSetsThePromiseOfItsWork() async throws {
        let promise = try OwnedThread.promise { 6 * 7 }
        #expect(await promise.value() == 42)
    }
}

@Suite(.timeLimit(.minutes(1)))
struct DeadlineTests {
    private enum Answer: Equatable { case value(Int), ended(WaitEnd) }

    /// A waiter that gets its answer once, from whoever comes first.
    private final class Answering: Sendable {
        private let waiter = Mutex<CheckedContinuation<Answer, Never>?>(nil)

        func answer(_ answer: Answer) {
            waiter.withLock { $0.take() }?.resume(returning: answer)
        }

        func wait(_ limit: Duration, then body: () -> Void = {}) async -> Answer {
            await withDeadline(limit) {
                self.answer(.ended($0))
            } begin: { waiter in
                self.waiter.withLock { $0 = waiter }
                body()
            }
        }
    }

    @Test func aResultEndsTheWait() async {
        let answering = Answering()
        #expect(await answering.wait(.seconds(60)) { answering.answer(.value(1)) } == .value(1))
    }

    @Test(arguments: [Duration.zero, .seconds(-1), .milliseconds(1)])
    func aDeadlineEndsTheWait(_ limit: Duration) async {
        #expect(await Answering().wait(limit) == .ended(.timeout))
    }

    @Test func cancellationEndsTheWait() async {
        let begun = Promise<Void>()
        let task = Task { await Answering().wait(.seconds(60)) { begun.set(()) } }
        await begun.value()
        task.cancel()
        #expect(await task.value == .ended(.cancelled))
    }

    @Test func aWaitInACancelledTaskEndsAtOnce() async {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await Answering().wait(.seconds(60))
        }
        #expect(await task.value == .ended(.cancelled))
    }
}
