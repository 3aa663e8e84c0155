import SignalboxCore
import Testing

@testable import SignalboxCommand
@testable import SignalboxCore

@Suite struct ThrottleTests {
    private static let start = ContinuousClock.now

    /// Takes turns at these times, in milliseconds, and returns the waits, or `nil` for a refusal.
    private static func waits(_ count: Int, per period: Int, longest: Int, at times: [Int]) -> [Int?] {
        var window = ThrottleWindow(count: count, period: .milliseconds(period))
        return times.map { time in
            switch window.take(at: start + .milliseconds(time), longestWait: .milliseconds(longest)) {
            case .after(let wait): Int(wait / .milliseconds(1))
            case .refused: nil
            }
        }
    }

    @Test func noPeriodHasMoreThanTheLimit() {
        #expect(
            Self.waits(2, per: 1_000, longest: 0, at: [0, 900, 950, 999, 1_000, 1_100, 1_900]) == [
                0, 0, nil, nil, 0, nil, 0,
            ]
        )
        #expect(Self.waits(1, per: 10, longest: 0, at: [0, 9, 10, 19, 25]) == [0, nil, 0, nil, 0])
    }

    @Test func thoseThatWaitKeepTheirOrder() {
        #expect(
            Self.waits(2, per: 100, longest: 1_000, at: [0, 0, 0, 0, 50, 50, 250]) == [0, 0, 100, 100, 150, 150, 50]
        )
    }

    @Test func aWaitThatIsTooLongTakesNoTurn() {
        #expect(Self.waits(1, per: 100, longest: 100, at: [0, 0, 0, 50, 200]) == [0, 100, nil, nil, 0])
        var window = ThrottleWindow(count: 1, period: .seconds(10))
        _ = window.take(at: Self.start, longestWait: .zero)
        #expect(
            window.take(at: Self.start + .seconds(4), longestWait: .seconds(5)) == .refused(retryAfter: .seconds(6))
        )
    }

    /// Twice the times of the window: the oldest is replaced in turn.
    @Test func manyPeriodsPass() {
        let times = Array(0..<1_000)
        let waits = Self.waits(10, per: 100, longest: 0, at: times)
        #expect(zip(times, waits).filter { $1 != nil }.map(\.0) == times.filter { $0 % 100 < 10 })
    }

    @Test func anExcessIsDroppedOrRejected() async throws {
        let steps = ["use: throttle, limit: 1, per: 1h, above: ABOVE", "use: echo"]
        let results = try await ["drop", "reject", "wait"].asyncMap { above in
            try await StepFixture.outcomes(
                ["1", "1"],
                steps.map { $0.replacing("ABOVE", with: above) },
                "order: source",
                together: false
            ).map(\.description)
        }
        #expect(results[0] == ["handled: 1", "handled"])
        #expect(results[1] == ["handled: 1", "rejected: overloaded: steps[0], use: throttle: at most 1 per 1h"])
        // 'push' does not redeliver here, so what is given back fails.
        #expect(results[2] == ["handled: 1", "failed: threw: steps[0], use: throttle: at most 1 per 1h"])
    }
}

extension Sequence {
    fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}

@Suite struct SampleTests {
    private static func passing(_ section: SampleSection, _ bodies: [String]) throws -> [Bool] {
        let step = SampleStep(section)
        return try bodies.map { step.passes(try StepFixture.action($0)) }
    }

    @Test func theFirstAndThenEveryThirdPasses() throws {
        let passing = try Self.passing(SampleSection(interval: 3), Array(repeating: "1", count: 8))
        #expect(passing == [true, false, false, true, false, false, true, false])
    }

    @Test func aKeyAlwaysHasTheSameAnswer() throws {
        let section = SampleSection(interval: 4, key: try ExpressionParser.expression("/c"))
        let bodies = (0..<400).map { #"{"c":"customer-\#($0)"}"# }
        let first = try Self.passing(section, bodies)
        #expect(first == (try Self.passing(section, bodies.reversed())).reversed())
        // The hash is fixed, because processes on several machines share a subscription.
        #expect(first.count { $0 } == Self.share)
        #expect(try Set(Self.passing(section, Array(repeating: "{}", count: 20))).count == 1)
    }

    /// What FNV-1a chooses among these keys; a quarter of 400 would be 100.
    private static let share = 106
}

@Suite struct AggregateTests {
    private static let start = ContinuousClock.now

    private static func item(_ body: String) throws -> CollectedItem {
        let action = try StepFixture.message(body, in: StepFixture.configuration(["use: log"])).arrival
        return CollectedItem(
            body: Bytes(body),
            context: ActionContext(arrival: action, host: nil),
            deadline: start + .seconds(9)
        )
    }

    private static func texts(_ items: [CollectedItem]?) -> [String]? {
        items?.map { String(decoding: $0.body, as: UTF8.self) }
    }

    @Test func aListIsFullByNumber() throws {
        var state = AggregateState(AggregateSection(count: 2, within: .seconds(1)))
        let (first, none) = state.add(try Self.item("1"), at: Self.start)
        #expect(none.isEmpty)
        let (second, full) = state.add(try Self.item("2"), at: Self.start)
        #expect(full.count == 1)
        let (third, _) = state.add(try Self.item("3"), at: Self.start)
        #expect(Self.texts(state.claim(second.list)) == ["1", "2"])
        #expect(state.claim(first.list) == nil)
        #expect(Self.texts(state.claim(third.list)) == ["3"] && state.count == 0)
    }

    @Test func aListIsFullBySize() throws {
        var state = AggregateState(AggregateSection(count: 9, within: .seconds(1), maximumBytes: 5))
        let (first, _) = state.add(try Self.item("111"), at: Self.start)
        let (second, full) = state.add(try Self.item("222"), at: Self.start)
        #expect(full.count == 1 && Self.texts(state.claim(first.list)) == ["111"])
        let (large, both) = state.add(try Self.item("1234567"), at: Self.start)
        #expect(both.count == 2 && Self.texts(state.claim(second.list)) == ["222"])
        #expect(Self.texts(state.claim(large.list)) == ["1234567"])
    }

    @Test func aCancelledCallTakesItsBodyBack() throws {
        var state = AggregateState(AggregateSection(count: 3, within: .seconds(1)))
        let (first, _) = state.add(try Self.item("1"), at: Self.start)
        let (second, _) = state.add(try Self.item("2"), at: Self.start)
        state.remove(first)
        #expect(state.count == 1)
        state.remove(second)
        state.remove(second)
        #expect(state.count == 0 && state.claim(first.list) == nil)
        let (third, _) = state.add(try Self.item("3"), at: Self.start)
        #expect(Self.texts(state.claim(third.list)) == ["3"])
    }

    @Test func allCallsOfAFullListHaveItsOutcome() async throws {
        let steps = ["use: aggregate, count: 3, within: 1h", "use: map, body: { all: '{body(\"\")}', of: '{/0/n}' }"]
        let outcomes = try await StepFixture.outcomes(
            [1, 2, 3].map { #"{"n":\#($0)}"# },
            steps,
            "order: none, max_concurrent: 3, timeout: 2h"
        )
        #expect(Set(outcomes).count == 1)
        let reply = try #require(outcomes.first?.description)
        for number in 1...3 { #expect(reply.contains(#""n":\#(number)"#), "\(reply)") }
        #expect(reply.hasPrefix(#"handled: {"all":[{"device":"till","n":"#), "\(reply)")
    }

    @Test func allCallsOfAFailedListFail() async throws {
        let steps = ["use: aggregate, count: 3, within: 1h", "use: fail"]
        let outcomes = try await StepFixture.outcomes(
            ["1", "2", "3"],
            steps,
            "order: none, max_concurrent: 3, timeout: 2h"
        )
        let failure = "failed: threw: steps[1], use: fail: the plugin 'fail' always fails"
        #expect(outcomes.map(\.description) == Array(repeating: failure, count: 3))
    }

    @Test func aListIsHandedOnWhenItsTimeIsOver() async throws {
        let steps = ["use: aggregate, count: 100, within: 1ms", "use: echo"]
        let outcomes = try await StepFixture.outcomes(["1"], steps)
        #expect(outcomes.map(\.description) == ["handled: [1]"])
    }

    @Test func aCallThatIsCancelledLeavesTheOthersWhole() async throws {
        let step = AggregateStep(AggregateSection(count: 2, within: .seconds(3_600)))
        let context = try Self.item("1").context
        let deadline = Self.start + .seconds(7_200)
        let cancelled = Task { try await step.call(context, deadline: deadline) { $0.json } }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        async let first = step.call(context, deadline: deadline) { $0.json }
        async let second = step.call(context, deadline: deadline) { $0.json }
        let lists = try await [first, second].map { $0?.text }
        #expect(lists == Array(repeating: #"[1,1]"#, count: 2))
    }

    @Test func theCancellationOfTheLeadingCallFailsTheOthers() async throws {
        let step = AggregateStep(AggregateSection(count: 2, within: .seconds(3_600)))
        let context = try Self.item("1").context
        let call = { @Sendable () async throws -> Bytes? in
            try await step.call(context, deadline: Self.start + .seconds(7_200)) { _ in throw CancellationError() }
        }
        async let first = Result.of { try await call() }
        async let second = Result.of { try await call() }
        let errors = await [first, second].map { result in
            if case .failure(let error) = result { "\(error)" } else { "none" }
        }
        #expect(Set(errors) == ["CancellationError()", "the call that handed on the list was cancelled"])
    }
}
