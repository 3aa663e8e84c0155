import Testing

@testable import JSBridge

@Suite struct RawBudgetTests {
    private let start = ContinuousClock.now

    @Test func aSecondHasRoomForSoManyMessagesAndThenIsOver() {
        var budget = RawBudget()
        var answers: [Bool] = []
        for _ in 0..<RawBudget.messages { answers.append(budget.take(10, in: .zero, at: start)) }
        #expect(answers.count { $0 } == RawBudget.messages - 1)
        #expect(answers.last == false)
        let later = [
            budget.take(10, in: .zero, at: start + .milliseconds(999)),
            budget.take(10, in: .zero, at: start + .seconds(1)),
        ]
        #expect(later == [false, true])
    }

    @Test func aSecondHasRoomForSoManyBytes() {
        var budget = RawBudget()
        let answers = [
            budget.take(RawBudget.bytes - 1, in: .zero, at: start), budget.take(1, in: .zero, at: start),
            budget.take(.max, in: .zero, at: start),
            budget.take(.max, in: .zero, at: start + .seconds(2)), budget.take(1, in: .zero, at: start + .seconds(3)),
        ]
        #expect(answers == [true, false, false, false, true])
    }

    @Test func aSecondHasRoomForSoMuchTime() {
        var budget = RawBudget()
        let answers = [
            budget.take(1, in: .milliseconds(99), at: start), budget.take(1, in: .milliseconds(1), at: start),
            budget.take(1, in: .seconds(9), at: start + .seconds(9)),
            budget.take(1, in: .zero, at: start + .seconds(10)),
        ]
        #expect(answers == [true, false, false, true])
    }
}
