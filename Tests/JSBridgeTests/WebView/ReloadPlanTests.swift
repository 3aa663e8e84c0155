import SignalboxRoutes
import Testing

@testable import JSBridge

@Suite struct ReloadPlanTests {
    private let start = ContinuousClock.now

    private func plan(_ reloads: Int, cap: Duration = .seconds(30)) throws -> ReloadPlan {
        var configuration = try WebViewConfiguration.testing()
        configuration.reloads = reloads
        configuration.reloadCap = cap
        return ReloadPlan(configuration)
    }

    @Test func waitsDoubleUpToTheCap() throws {
        var plan = try plan(8)
        let waits = (0..<8).map { _ in plan.ended(at: start, share: 1) }
        #expect(waits == [1, 2, 4, 8, 16, 30, 30, 30].map { Duration.seconds($0) })
        let wait1 = plan.ended(at: start, share: 1)
        #expect(wait1 == nil)
        let wait2 = plan.ended(at: start, share: 1)
        #expect(wait2 == nil, "it stays so")
    }

    @Test func theShareSaysWhereTheWaitLies() throws {
        var plan = try plan(3)
        let wait3 = plan.ended(at: start, share: 0.5)
        #expect(wait3 == .milliseconds(500))
        let wait4 = plan.ended(at: start, share: 0)
        #expect(wait4 == .zero)
        let wait5 = plan.ended(at: start, share: 0.25)
        #expect(wait5 == .seconds(1))
    }

    @Test func aSmallCapBoundsTheFirstWaitToo() throws {
        var plan = try plan(2, cap: .milliseconds(300))
        let wait6 = plan.ended(at: start, share: 1)
        #expect(wait6 == .milliseconds(300))
        let wait7 = plan.ended(at: start, share: 1)
        #expect(wait7 == .milliseconds(300))
    }

    @Test func withoutReloadsTheFirstEndIsTheLast() throws {
        var plan = try plan(0)
        plan.lives(at: start)
        #expect(plan.ended(at: start + .seconds(3_600), share: 1) == nil)
    }

    @Test(arguments: [
        (seconds: 59, isForgiven: false), (seconds: 60, isForgiven: true), (seconds: 86_400, isForgiven: true),
    ])
    func aPageThatLastedAMinuteBeginsAnew(seconds: Int, isForgiven: Bool) throws {
        var plan = try plan(2)
        let wait8 = plan.ended(at: start, share: 1)
        #expect(wait8 == .seconds(1))
        let wait9 = plan.ended(at: start, share: 1)
        #expect(wait9 == .seconds(2))
        plan.lives(at: start)
        plan.lives(at: start + .seconds(50))
        let end = start + .seconds(seconds)
        let wait10 = plan.ended(at: end, share: 1)
        #expect(wait10 == (isForgiven ? .seconds(1) : nil))
    }

    @Test func aPageThatNeverShowedHasNotLasted() throws {
        var plan = try plan(1)
        plan.lives(at: start)
        #expect(plan.ended(at: start + .seconds(90), share: 1) == .seconds(1))
        #expect(plan.ended(at: start + .seconds(900), share: 1) == nil)
    }
}

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
