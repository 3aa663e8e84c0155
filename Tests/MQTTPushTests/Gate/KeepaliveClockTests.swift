import TestSupport
import Testing

@testable import MQTTPush

@Suite struct KeepaliveClockTests {
    private static let start = ContinuousClock.now

    private func after(_ seconds: Double) -> ContinuousClock.Instant { KeepaliveClockTests.start + .seconds(seconds) }

    private func make(_ keepalive: Duration = .seconds(10)) -> KeepaliveClock {
        KeepaliveClock(keepalive: keepalive, at: KeepaliveClockTests.start)
    }

    @Test func aPingIsDueAfterHalfTheKeepalive() {
        var clock = make()
        #expect(clock.nextCheck == after(5))
        #expect(clock.check(at: after(4.999)) == .none)
        #expect(clock.check(at: after(5)) == .ping)
        #expect(clock.check(at: after(5)) == .none)
    }

    @Test func receivedBytesDoNotReplaceAPing() {
        var clock = make()
        for second in 1...4 { clock.read(at: after(Double(second))) }
        #expect(clock.check(at: after(4.9)) == .none)
        #expect(clock.check(at: after(5)) == .ping)
    }

    @Test func sentBytesDoNotReplaceAPingToASilentBroker() {
        var clock = make()
        for second in 1...4 { clock.written(at: after(Double(second))) }
        #expect(clock.nextCheck == after(5))
        #expect(clock.check(at: after(5)) == .ping)
    }

    @Test func noPingIsDueWhileBothSidesSend() {
        var clock = make()
        for second in 1...100 {
            #expect(clock.check(at: after(Double(second))) == .none)
            clock.read(at: after(Double(second)))
            clock.written(at: after(Double(second)))
        }
        #expect(clock.nextCheck == after(105))
    }

    @Test func theBrokerIsDeadAfterOneAndAHalfKeepalivesWithoutAByte() {
        var clock = make()
        #expect(clock.check(at: after(5)) == .ping)
        // Pings go on, but do not extend the broker's time.
        #expect(clock.check(at: after(10)) == .ping)
        #expect(clock.nextCheck == after(15))
        #expect(clock.check(at: after(14.999)) == .none)
        #expect(clock.check(at: after(15)) == .dead)
    }

    @Test func anyByteAnswersAPing() {
        var clock = make()
        #expect(clock.check(at: after(5)) == .ping)
        clock.read(at: after(14))
        #expect(clock.check(at: after(15)) == .ping)
        #expect(clock.check(at: after(28.999)) != .dead)
        #expect(clock.check(at: after(29)) == .dead)
    }

    @Test func aSuspendedProcessAsksBeforeItGivesUp() {
        var clock = make()
        #expect(clock.check(at: after(3_600)) == .ping)
        #expect(clock.check(at: after(3_609)) != .dead)
        #expect(clock.check(at: after(3_610)) == .dead)
    }

    @Test func aConnectionThatDoesNotReadPingsButExpectsNoAnswer() {
        var clock = make()
        #expect(clock.check(at: after(5)) == .ping)
        clock.setReading(false, at: after(6))
        let checks = stride(from: 7.0, through: 100, by: 1).map { clock.check(at: after($0)) }
        #expect(!checks.contains(.dead) && checks.count { $0 == .ping } == 19)
        clock.setReading(true, at: after(101))
        clock.setReading(true, at: after(105))
        #expect(clock.check(at: after(106)) == .ping)
        #expect(clock.check(at: after(115.999)) != .dead)
        #expect(clock.check(at: after(116)) == .dead)
    }

    @Test func withoutAKeepaliveNothingIsDue() {
        for keepalive: Duration in [.zero, .seconds(-1)] {
            var clock = make(keepalive)
            #expect(clock.nextCheck == nil)
            #expect(clock.check(at: after(1_000_000)) == .none)
        }
    }

    @Test func theServersKeepaliveReplacesTheClients() {
        var clock = make()
        clock.use(serverKeepalive: 4)
        #expect(clock.nextCheck == after(2))
        #expect(clock.check(at: after(2)) == .ping)
        #expect(clock.check(at: after(6)) == .dead)
        clock.use(serverKeepalive: 0)
        #expect(clock.nextCheck == nil && clock.check(at: after(100)) == .none)
        var none = make(.zero)
        none.use(serverKeepalive: .max)
        #expect(none.nextCheck == after(65_535.0 / 2))
    }

    /// For a client that sleeps until the next check, as the loop does.
    @Test func theClientSendsInEachKeepaliveAndNoticesADeadBrokerInTime() {
        var random = SeededGenerator(seed: 22)
        for _ in 0..<500 {
            var clock = make()
            var (now, writtenAt, readAt) = (after(0), after(0), after(0))
            for _ in 0..<100 {
                let step = Duration.milliseconds(Int.random(in: 0...6_000, using: &random))
                now = min(now + step, max(now, clock.nextCheck ?? now))
                if Int.random(in: 0..<3, using: &random) == 0 {
                    clock.read(at: now)
                    readAt = now
                }
                #expect(now - writtenAt <= .seconds(5) && now - readAt <= .seconds(15))
                switch clock.check(at: now) {
                case .none: break
                case .ping: writtenAt = now
                case .dead: #expect(now - readAt == .seconds(15))
                }
                if now - readAt == .seconds(15) { break }
            }
        }
    }
}
