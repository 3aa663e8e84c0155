import JSBridge
import SignalboxCore
import SignalboxTesting
import Testing

@testable import BrowserBridge

@Suite(.timeLimit(.minutes(10))) struct PageCallersTests {
    private static let long: Duration = .seconds(60)

    private func code(_ answer: PageCallers.Answer) -> PageCallError.Code? {
        if case .failure(let error) = answer { error.code } else { nil }
    }

    @Test func eachQuestionIsAnsweredOnceUnderItsNumber() async throws {
        let callers = PageCallers(bound: 10)
        let asked = EventList<UInt64>()
        async let one = callers.answer(within: Self.long) { number in
            asked.append(number)
            return nil
        }
        let number = await asked.first(1)[0]
        callers.finish(number + 1_000_000, .success(Bytes("2")))
        callers.finish(number, .success(Bytes("1")))
        callers.finish(number, .success(Bytes("3")))
        #expect(try await one.get()?.text == "1")
    }

    @Test func aQuestionThatCannotBePutIsAnsweredAtOnce() async {
        let callers = PageCallers(bound: 1)
        #expect(code(await callers.answer(within: Self.long) { _ in PageCallError(.tooLarge, "") }) == .tooLarge)
        #expect(code(await callers.answer(within: .milliseconds(1)) { _ in nil }) == .timeout)
    }

    @Test func aTimeoutThatPassesBeforeTheCallerIsNotedEndsTheWaitToo() async {
        let callers = PageCallers(bound: 1)
        for _ in 0..<2_000 {
            #expect(code(await callers.answer(within: .nanoseconds(1)) { _ in nil }) == .timeout)
        }
    }

    @Test func theyAreBounded() async throws {
        let callers = PageCallers(bound: 1)
        let asked = EventList<UInt64>()
        async let one = callers.answer(within: Self.long) { number in
            asked.append(number)
            return nil
        }
        let number = await asked.first(1)[0]
        #expect(code(await callers.answer(within: Self.long) { _ in nil }) == .full)
        callers.finish(number, .success(nil))
        #expect(try await one.get() == nil)
    }

    @Test func theEndAndACancellationEndAllWaits() async {
        let callers = PageCallers(bound: 10)
        let asked = EventList<UInt64>()
        let task = Task {
            await callers.answer(within: Self.long) { number in
                asked.append(number)
                return nil
            }
        }
        _ = await asked.first(1)
        task.cancel()
        #expect(code(await task.value) == .closed)
        async let other = callers.answer(within: Self.long) { number in
            asked.append(number)
            return nil
        }
        _ = await asked.first(2)
        callers.close()
        #expect(code(await other) == .closed)
        #expect(code(await callers.answer(within: Self.long) { _ in nil }) == .closed)
    }
}
