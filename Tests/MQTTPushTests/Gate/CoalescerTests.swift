import TestSupport
import Testing

@testable import MQTTPush

@Suite struct CoalescerTests {
    private static let start = ContinuousClock.now

    private func after(_ microseconds: Int) -> ContinuousClock.Instant {
        CoalescerTests.start + .microseconds(microseconds)
    }

    private func make(_ bound: Duration? = .milliseconds(1)) -> Coalescer { Coalescer(bound) }

    /// One turn that ends at the given time.
    private func turn(
        _ coalescer: inout Coalescer,
        _ at: Int,
        received: Int = 0,
        flushed: Int = 0,
        isDrained: Bool = true
    ) -> Duration? {
        coalescer.received(received)
        coalescer.flushed(flushed)
        return coalescer.nap(at: after(at), isDrained: isDrained)
    }

    /// The naps of turns that follow each other at the interval, each with as many messages.
    private func naps(
        _ coalescer: inout Coalescer,
        every interval: Int,
        from start: Int = 0,
        received: Int,
        turns: Int = 40
    ) -> [Duration?] {
        (0..<turns).map { turn(&coalescer, start + $0 * interval, received: received) }
    }

    @Test func aHighRateLeadsToNaps() {
        var coalescer = make()
        // 50 messages a millisecond, so a nap of 300 microseconds collects 15.
        let naps = naps(&coalescer, every: 100, received: 5)
        // The rate is known after half of the bound.
        #expect(naps[..<5].allSatisfy { $0 == nil })
        #expect(naps[6...].allSatisfy { $0 == .microseconds(300) })
    }

    @Test func aNapIsNotLongerThanItCollectsEnough() throws {
        var coalescer = make()
        // A message a microsecond: 48 of them are enough.
        let nap = try #require(naps(&coalescer, every: 100, received: 100)[20])
        #expect((.microseconds(47)...Duration.microseconds(49)).contains(nap))
    }

    @Test(arguments: [(100, 1), (1_000, 1), (200, 2), (900, 9)])
    func aLowRateLeadsToNoNap(interval: Int, received: Int) {
        // At most 10 messages a millisecond, so a nap would collect 3.
        var coalescer = make()
        #expect(naps(&coalescer, every: interval, received: received).allSatisfy { $0 == nil })
    }

    @Test func theFirstMessagesAfterAPauseAreNotDelayed() {
        var coalescer = make()
        #expect(naps(&coalescer, every: 100, received: 50)[39] != nil)
        // The last turn was at 3,900; a pause is longer than the bound.
        let later = naps(&coalescer, every: 100, from: 4_901, received: 50)
        #expect(later[..<5].allSatisfy { $0 == nil } && later[6] != nil)
        let soon = naps(&coalescer, every: 100, from: 8_801 + 1_000, received: 50)
        #expect(soon[0] != nil)
    }

    @Test func acknowledgementsAreWorkButNotMessages() {
        var coalescer = make()
        let alone = (0..<40).map { turn(&coalescer, $0 * 50, flushed: 50) }
        #expect(alone.allSatisfy { $0 == nil })
        // Between messages, turns that only acknowledge nap as well.
        _ = naps(&coalescer, every: 100, from: 2_000, received: 20)
        #expect(turn(&coalescer, 5_950, flushed: 3) != nil)
    }

    @Test func aTurnWithoutWorkIsFollowedByAWaitForEvents() {
        var coalescer = make()
        #expect(naps(&coalescer, every: 100, received: 20)[39] != nil)
        #expect(turn(&coalescer, 3_950) == nil)
        #expect(turn(&coalescer, 4_000, received: 20) != nil)
    }

    @Test func theNapsEndSoonAfterTheLoad() {
        var coalescer = make()
        #expect(naps(&coalescer, every: 100, received: 20)[39] != nil)
        // The next measurement of the rate is over within the bound.
        let later = naps(&coalescer, every: 250, from: 4_150, received: 1)
        #expect(later[6...].allSatisfy { $0 == nil })
    }

    @Test func thereIsNoNapWhenItIsNotAllowed() {
        var coalescer = make()
        #expect(naps(&coalescer, every: 100, received: 20)[39] != nil)
        #expect(turn(&coalescer, 4_000, received: 20, flushed: 3, isDrained: false) == nil)
        #expect(turn(&coalescer, 4_100, received: 20) != nil)
    }

    @Test func withoutABoundThereIsNoNap() {
        for bound: Duration? in [nil, .zero, .microseconds(-1)] {
            var coalescer = make(bound)
            #expect(naps(&coalescer, every: 20, received: 200).allSatisfy { $0 == nil })
        }
    }

    @Test func noNapIsLongerThanAThirdOfTheBound() {
        var random = SeededGenerator(seed: 22)
        for bound in [200, 1_000, 10_000] {
            var (coalescer, now, lastWork, naps) = (make(.microseconds(bound)), 0, Int.min / 2, 0)
            for _ in 0..<4_000 {
                now += Int.random(in: 0...bound / 2, using: &random)
                if Int.random(in: 0..<50, using: &random) == 0 { now += 2 * bound }
                let received = Int.random(in: 0...100, using: &random)
                if let nap = turn(&coalescer, now, received: received) {
                    #expect(nap > .zero && nap * 3 <= .microseconds(bound))
                    #expect(now - lastWork <= bound && received > 0)
                    naps += 1
                }
                if received > 0 { lastWork = now }
            }
            #expect(naps > 100)
        }
    }
}
