import Testing

@testable import JSBridge

@Suite struct LivenessTests {
    private let start = ContinuousClock.now

    @Test func aPageThatAnswersIsAskedAgain() {
        var liveness = Liveness(limit: .seconds(10))
        #expect(liveness.look(at: start) == .ask)
        #expect(liveness.look(at: start + .seconds(9)) == .wait)
        liveness.reacted()
        #expect(liveness.look(at: start + .seconds(20)) == .ask)
        #expect(liveness.look(at: start + .seconds(29)) == .wait)
    }

    @Test func aPageThatDoesNotAnswerInTimeIsEnded() {
        var liveness = Liveness(limit: .seconds(10))
        _ = liveness.look(at: start)
        #expect(liveness.look(at: start + .seconds(10)) == .end)
        #expect(liveness.interval <= .seconds(5))
        #expect(Liveness(limit: .seconds(1)).interval == .milliseconds(125))
    }

    @Test func aPageThatWaitsForItsUserIsLeftAloneUntilItReacts() {
        var liveness = Liveness(limit: .seconds(10))
        _ = liveness.look(at: start)
        liveness.waitForUser()
        #expect(liveness.look(at: start + .seconds(1_000)) == .wait)
        liveness.reacted()
        #expect(liveness.look(at: start + .seconds(1_001)) == .ask)
        #expect(liveness.look(at: start + .seconds(1_011)) == .end)
    }
}
