import AdapterSupport
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import JSBridge

@Suite(.timeLimit(.minutes(10))) struct AnswerTableTests {
    private static let long: Duration = .seconds(60)

    private func code(_ answer: PageAnswer) -> PageCallError.Code? {
        if case .failure(let error) = answer { error.code } else { nil }
    }

    @Test func eachCallIsAnsweredOnceByItsNumber() async throws {
        let callers = PageCallers(bound: 10, failures: .page)
        let numbers = EventList<UInt64>()
        async let one = callers.answer(within: Self.long) { number in
            numbers.append(number)
            return nil
        }
        let number = await numbers.first(1)[0]
        callers.finish(number + 1_000_000, .success(Bytes("2")))
        callers.finish(number, .success(Bytes("1")))
        callers.finish(number, .success(Bytes("3")))
        #expect(try await one.get()?.text == "1")
    }

    @Test func aCallThatCannotBeSentFailsAtOnce() async {
        let callers = PageCallers(bound: 1, failures: .page)
        #expect(code(await callers.answer(within: Self.long) { _ in PageCallError(.tooLarge, "") }) == .tooLarge)
        #expect(code(await callers.answer(within: .milliseconds(1)) { _ in nil }) == .timeout)
    }

    @Test func aTimeoutBeforeTheCallerIsRegisteredEndsTheWait() async {
        let callers = PageCallers(bound: 1, failures: .page)
        for _ in 0..<2_000 {
            #expect(code(await callers.answer(within: .nanoseconds(1)) { _ in nil }) == .timeout)
        }
    }

    @Test func concurrentCallsAreBounded() async throws {
        let callers = PageCallers(bound: 1, failures: .page)
        let numbers = EventList<UInt64>()
        async let one = callers.answer(within: Self.long) { number in
            numbers.append(number)
            return nil
        }
        let number = await numbers.first(1)[0]
        #expect(code(await callers.answer(within: Self.long) { _ in nil }) == .full)
        callers.finish(number, .success(nil))
        #expect(try await one.get() == nil)
    }

    @Test func closingAndCancellationEndTheWaits() async {
        let callers = PageCallers(bound: 10, failures: .page)
        let numbers = EventList<UInt64>()
        let task = Task {
            await callers.answer(within: Self.long) { number in
                numbers.append(number)
                return nil
            }
        }
        _ = await numbers.first(1)
        task.cancel()
        #expect(code(await task.value) == .closed)
        async let other = callers.answer(within: Self.long) { number in
            numbers.append(number)
            return nil
        }
        _ = await numbers.first(2)
        callers.failAll(isLast: true)
        #expect(code(await other) == .closed)
        #expect(code(await callers.answer(within: Self.long) { _ in nil }) == .closed)
    }

    @Test func aCallAnsweredWhileItIsSentLeavesNothingBehind() async throws {
        let callers = PageCallers(bound: 1, failures: .page)
        let events = EventList<String>()
        let answer = await callers.answer(within: Self.long) { number in
            callers.finish(number, .success(Bytes("1")))
            events.append("sent")
            return nil
        } ended: { _ in
            events.append("ended")
        }
        #expect(try answer.get()?.text == "1")
        #expect(events.all == ["ended", "sent", "ended"])
    }

    @Test func aCancelledTaskSendsNoCall() async {
        let callers = PageCallers(bound: 1, failures: .page)
        let numbers = EventList<UInt64>()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return await callers.answer(within: Self.long) { number in
                numbers.append(number)
                return nil
            }
        }
        task.cancel()
        #expect(code(await task.value) == .closed)
        #expect(numbers.all.isEmpty && callers.isEmpty)
    }
}
