import TestSupport
import Testing

@testable import MQTTPush

@Suite struct CoalescerTests {
    private static let start = ContinuousClock.now

    private func after(_ microseconds: Int) -> ContinuousClock.Instant {
        CoalescerTests.start + .microseconds(microseconds)
    }

    private func make(_ bound: Duration? = .microseconds(200)) -> Coalescer { Coalescer(bound) }

    /// One turn at the given time that reads and flushes as much, and is over after ten microseconds.
    private func turn(
        _ coalescer: inout Coalescer,
        _ at: Int,
        read: Int = 0,
        flushed: Int = 0,
        isDrained: Bool = true
    ) -> Duration? {
        coalescer.read(read, at: after(at))
        coalescer.flushed(flushed, at: after(at + 5))
        return coalescer.nap(at: after(at + 10), isDrained: isDrained)
    }

    @Test func readsThatFollowEachOtherLeadToANap() {
        var coalescer = make()
        let naps = [0, 100, 200, 300].map { turn(&coalescer, $0, read: 20) }
        #expect(naps == [nil, .microseconds(60), .microseconds(60), .microseconds(60)])
    }

    @Test func flushesThatFollowEachOtherLeadToANap() {
        var coalescer = make()
        let naps = [0, 100, 200].map { turn(&coalescer, $0, flushed: 1) }
        #expect(naps == [nil, .microseconds(60), .microseconds(60)])
    }

    @Test func theFirstMessageAfterAPauseIsNotDelayed() {
        var coalescer = make()
        #expect(turn(&coalescer, 0, read: 20) == nil)
        #expect(turn(&coalescer, 210, read: 20) != nil)
        #expect(turn(&coalescer, 421, read: 20) == nil)
        #expect(turn(&coalescer, 500, read: 20) != nil)
    }

    @Test func anIsolatedMessageAndItsAcknowledgementLeadToNoNap() {
        var coalescer = make()
        for message in 0..<20 {
            #expect(turn(&coalescer, message * 1_000, read: 200) == nil)
            #expect(turn(&coalescer, message * 1_000 + 30, flushed: 1) == nil)
        }
    }

    @Test func aTurnWithoutWorkIsFollowedByAWaitForEvents() {
        var coalescer = make()
        #expect(turn(&coalescer, 0, read: 20) == nil)
        #expect(turn(&coalescer, 50, read: 20) != nil)
        #expect(turn(&coalescer, 100) == nil)
        #expect(turn(&coalescer, 110) == nil)
        // The pause is counted from the last turn with work.
        #expect(turn(&coalescer, 200, read: 20) != nil)
    }

    @Test func aTurnWithSeveralReadsCountsOnce() {
        var coalescer = make()
        for read in 0..<10 { coalescer.read(4_096, at: after(read)) }
        #expect(coalescer.nap(at: after(100), isDrained: true) == nil)
    }

    @Test func aLongTurnIsNotAPause() {
        var coalescer = make()
        coalescer.read(1, at: after(0))
        #expect(coalescer.nap(at: after(50_000), isDrained: true) == nil)
        #expect(turn(&coalescer, 50_100, read: 1) != nil)
        // The first read of a turn decides.
        coalescer.read(1, at: after(50_200))
        coalescer.read(1, at: after(99_000))
        #expect(coalescer.nap(at: after(100_000), isDrained: true) != nil)
    }

    @Test func thereIsNoNapWhenItIsNotAllowed() {
        var coalescer = make()
        #expect(turn(&coalescer, 0, read: 20) == nil)
        #expect(turn(&coalescer, 50, read: 20, flushed: 3, isDrained: false) == nil)
        #expect(turn(&coalescer, 100, read: 20) != nil)
    }

    @Test func withoutABoundThereIsNoNap() {
        for bound: Duration? in [nil, .zero, .microseconds(-1)] {
            var coalescer = make(bound)
            let naps = (0..<10).map { turn(&coalescer, $0 * 20, read: 20, flushed: 1) }
            #expect(naps.allSatisfy { $0 == nil })
        }
    }

    @Test func noNapIsLongerThanAThirdOfTheBound() {
        var random = SeededGenerator(seed: 22)
        for bound in [200, 1_000, 10_000] {
            var (coalescer, now, lastWork, naps) = (make(.microseconds(bound)), 0, Int.min / 2, 0)
            for _ in 0..<2_000 {
                now += Int.random(in: 0...bound * 2, using: &random)
                let (read, flushed) = (Int.random(in: 0...1, using: &random), Int.random(in: 0...1, using: &random))
                if let nap = turn(&coalescer, now, read: read, flushed: flushed) {
                    #expect(nap > .zero && nap * 3 <= .microseconds(bound))
                    #expect(now - lastWork <= bound && read + flushed > 0)
                    naps += 1
                }
                if read + flushed > 0 { lastWork = now + 10 }
            }
            #expect(naps > 100)
        }
    }
}
