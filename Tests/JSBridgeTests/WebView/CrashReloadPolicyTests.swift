import SignalboxRoutes
import Testing

@testable import JSBridge

@Suite struct CrashReloadPolicyTests {
    private let start = ContinuousClock.now

    private func policy(_ reloads: Int, cap: Duration = .seconds(30)) throws -> CrashReloadPolicy {
        var configuration = try WebViewConfiguration.testing()
        configuration.reloads = reloads
        configuration.reloadCap = cap
        return CrashReloadPolicy(configuration)
    }

    @Test func waitsDoubleUpToTheCap() throws {
        var policy = try policy(8)
        let waits = (0..<8).map { _ in policy.failed(at: start, jitter: 1) }
        #expect(waits == [1, 2, 4, 8, 16, 30, 30, 30].map { Duration.seconds($0) })
        let wait1 = policy.failed(at: start, jitter: 1)
        #expect(wait1 == nil)
        let wait2 = policy.failed(at: start, jitter: 1)
        #expect(wait2 == nil, "the failure is final")
    }

    @Test func theJitterScalesTheWait() throws {
        var policy = try policy(3)
        let wait3 = policy.failed(at: start, jitter: 0.5)
        #expect(wait3 == .milliseconds(500))
        let wait4 = policy.failed(at: start, jitter: 0)
        #expect(wait4 == .zero)
        let wait5 = policy.failed(at: start, jitter: 0.25)
        #expect(wait5 == .seconds(1))
    }

    @Test func aSmallCapBoundsTheFirstWait() throws {
        var policy = try policy(2, cap: .milliseconds(300))
        let wait6 = policy.failed(at: start, jitter: 1)
        #expect(wait6 == .milliseconds(300))
        let wait7 = policy.failed(at: start, jitter: 1)
        #expect(wait7 == .milliseconds(300))
    }

    @Test func withoutReloadsTheFirstFailureIsFinal() throws {
        var policy = try policy(0)
        policy.loadCommitted(at: start)
        #expect(policy.failed(at: start + .seconds(3_600), jitter: 1) == nil)
    }

    @Test(arguments: [
        (seconds: 59, isForgiven: false), (seconds: 60, isForgiven: true), (seconds: 86_400, isForgiven: true),
    ])
    func aPageThatLastsAMinuteResetsTheReloads(seconds: Int, isForgiven: Bool) throws {
        var policy = try policy(2)
        let wait8 = policy.failed(at: start, jitter: 1)
        #expect(wait8 == .seconds(1))
        let wait9 = policy.failed(at: start, jitter: 1)
        #expect(wait9 == .seconds(2))
        policy.loadCommitted(at: start)
        policy.loadCommitted(at: start + .seconds(50))
        let end = start + .seconds(seconds)
        let wait10 = policy.failed(at: end, jitter: 1)
        #expect(wait10 == (isForgiven ? .seconds(1) : nil))
    }

    @Test func aPageThatNeverLoadedDoesNotResetTheReloads() throws {
        var policy = try policy(1)
        policy.loadCommitted(at: start)
        #expect(policy.failed(at: start + .seconds(90), jitter: 1) == .seconds(1))
        #expect(policy.failed(at: start + .seconds(900), jitter: 1) == nil)
    }
}

@Suite struct LivenessTests {
    private let start = ContinuousClock.now

    @Test func aPageThatAnswersIsPingedAgain() {
        var liveness = Liveness(limit: .seconds(10))
        #expect(liveness.check(at: start) == .ping)
        #expect(liveness.check(at: start + .seconds(9)) == .wait)
        liveness.responded()
        #expect(liveness.check(at: start + .seconds(20)) == .ping)
        #expect(liveness.check(at: start + .seconds(29)) == .wait)
    }

    @Test func anUnresponsivePageIsTerminated() {
        var liveness = Liveness(limit: .seconds(10))
        _ = liveness.check(at: start)
        #expect(liveness.check(at: start + .seconds(10)) == .terminate)
        #expect(liveness.interval <= .seconds(5))
        #expect(Liveness(limit: .seconds(1)).interval == .milliseconds(125))
    }

    @Test func aPageWaitingForItsUserIsNotTerminated() {
        var liveness = Liveness(limit: .seconds(10))
        _ = liveness.check(at: start)
        liveness.waitForUser()
        #expect(liveness.check(at: start + .seconds(1_000)) == .wait)
        liveness.responded()
        #expect(liveness.check(at: start + .seconds(1_001)) == .ping)
        #expect(liveness.check(at: start + .seconds(1_011)) == .terminate)
    }
}
