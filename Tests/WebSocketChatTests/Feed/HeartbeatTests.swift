import Testing

@testable import WebSocketChat

@Suite struct HeartbeatTests {
    private var heartbeat = Heartbeat(pingAfter: .seconds(10), pongWithin: .seconds(5), now: .now)
    private var now = ContinuousClock.now

    /// What is advised after each of so many half seconds.
    private mutating func ticks(_ count: Int, isPaused: Bool = false) -> [Heartbeat.Advice] {
        (0..<count).map { _ in
            now += .milliseconds(500)
            return heartbeat.tick(now, isPaused: isPaused)
        }
    }

    private mutating func begin() {
        now = .now
        heartbeat = Heartbeat(pingAfter: .seconds(10), pongWithin: .seconds(5), now: now)
    }

    @Test mutating func aSilentPeerIsPingedOnceAndThenDead() {
        begin()
        #expect(ticks(20) == Array(repeating: .nothing, count: 19) + [.ping])
        // One more than 5 s, so that an answer that was not read yet is.
        #expect(ticks(11) == Array(repeating: .nothing, count: 10) + [.dead])
    }

    @Test mutating func whateverComesIsAnAnswer() {
        begin()
        #expect(ticks(20).last == .ping)
        _ = ticks(10)
        heartbeat.hear()
        #expect(ticks(20) == Array(repeating: .nothing, count: 20))
        #expect(ticks(1) == [.ping])
    }

    @Test mutating func timeInWhichNothingIsReadDoesNotCount() {
        begin()
        #expect(ticks(1_000, isPaused: true) == Array(repeating: .nothing, count: 1_000))
        // The half second in which reading began does not count either.
        #expect(ticks(21) == Array(repeating: .nothing, count: 20) + [.ping])
        #expect(ticks(9) == Array(repeating: .nothing, count: 9))
        #expect(ticks(1_000, isPaused: true) == Array(repeating: .nothing, count: 1_000))
        #expect(ticks(3) == [.nothing, .nothing, .dead])
    }

    @Test mutating func aSleepOfTheMachineKillsNobody() {
        begin()
        #expect(ticks(20).last == .ping)
        now += .seconds(86_400)
        #expect(heartbeat.tick(now, isPaused: false) == .nothing)
        heartbeat.hear()
        #expect(ticks(1) == [.nothing])
    }
}
