import TestSupport
import Testing

@testable import MQTTPush

extension MonotonicTime {
    fileprivate static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        MonotonicTime(
            nanoseconds: time.nanoseconds + duration.components.seconds * 1_000_000_000
                + duration.components.attoseconds / 1_000_000_000
        )
    }

    fileprivate static func - (later: MonotonicTime, earlier: MonotonicTime) -> Duration {
        .nanoseconds(later.nanoseconds - earlier.nanoseconds)
    }
}

@Suite struct InFlightTargetTests {
    private static let start = MonotonicTime(nanoseconds: 0)

    /// A target, and a time that passes only as the test says.
    private struct Connection {
        var target: InFlightTarget
        var now = InFlightTargetTests.start

        init(bound: Int = 250) { target = InFlightTarget(bound: bound, ackDeadline: .seconds(8)) }

        /// Adds as many messages at once, and settles all of them after `duration`.
        mutating func deliver(_ count: Int, taking duration: Duration) {
            let addedAt = now
            for unsettled in 1...count { target.added(unsettled: unsettled) }
            now = now + duration
            for _ in 0..<count { target.settled(addedAt: addedAt, at: now) }
            now = now + .milliseconds(1)
        }

        mutating func grow(to size: Int) {
            while target.target < size { deliver(target.target, taking: .zero) }
        }
    }

    @Test func theFirstTargetIsOneMessage() {
        #expect(Connection().target.target == 1)
        #expect(InFlightTarget(bound: 0, ackDeadline: .zero).target == 1)
    }

    @Test func quicklySettledMessagesDoubleTheTargetUpToTheBound() {
        var connection = Connection(bound: 10)
        var targets: [Int] = []
        for _ in 0..<5 {
            connection.deliver(connection.target.target, taking: .milliseconds(999))
            targets.append(connection.target.target)
        }
        #expect(targets == [2, 4, 8, 10, 10])
    }

    @Test func aTargetThatIsNotReachedDoesNotGrow() {
        var connection = Connection()
        for _ in 0..<100 { connection.deliver(1, taking: .zero) }
        #expect(connection.target.target == 2)
    }

    @Test func aTargetGrowsOnlyAfterAsManyMessagesInARow() {
        var connection = Connection()
        connection.grow(to: 4)
        connection.target.added(unsettled: 4)
        let now = connection.now
        for _ in 0..<3 { connection.target.settled(addedAt: now, at: now) }
        connection.target.settled(addedAt: now + .seconds(-1), at: now)
        for _ in 0..<3 { connection.target.settled(addedAt: now, at: now) }
        #expect(connection.target.target == 4)
        connection.target.settled(addedAt: now, at: now)
        #expect(connection.target.target == 8)
    }

    @Test func mediumDurationsDoNotChangeTheTarget() {
        var connection = Connection()
        connection.grow(to: 2)
        for duration: Duration in [.seconds(1), .seconds(4)] { connection.deliver(2, taking: duration) }
        #expect(connection.target.target == 2)
    }

    @Test func slowMessagesHalveTheTargetDownToOne() {
        var connection = Connection()
        connection.grow(to: 64)
        var targets: [Int] = []
        for _ in 0..<7 {
            connection.deliver(connection.target.target, taking: .milliseconds(4_001))
            targets.append(connection.target.target)
        }
        #expect(targets == [32, 16, 8, 4, 2, 1, 1])
    }

    @Test func oneSlowCallAmongFastOnesCostsOneHalving() {
        var connection = Connection()
        connection.grow(to: 64)
        let addedAt = connection.now
        // All these messages waited behind one call.
        for message in 0..<64 {
            connection.target.settled(addedAt: addedAt, at: addedAt + .milliseconds(5_000 + message))
        }
        #expect(connection.target.target == 32)
        connection.now = addedAt + .seconds(6)
        connection.deliver(32, taking: .zero)
        #expect(connection.target.target == 64)
        // A message that was added after the halving halves again.
        connection.deliver(1, taking: .seconds(5))
        #expect(connection.target.target == 32)
    }

    @Test func aResetReturnsToOneMessage() {
        var connection = Connection()
        connection.grow(to: 8)
        connection.deliver(8, taking: .seconds(5))
        connection.target.reset()
        #expect(connection.target == Connection().target)
    }

    @Test func anyDeadlineIsAccepted() {
        let longest = Duration.seconds(Int64.max)
        for deadline: Duration in [.zero, .seconds(-1), longest, Duration.zero - longest, .nanoseconds(1)] {
            var target = InFlightTarget(bound: 8, ackDeadline: deadline)
            let times = [Int64.min, -1, 0, 1, .max].map { MonotonicTime(nanoseconds: $0) }
            for addedAt in times {
                for now in times {
                    target.added(unsettled: 8)
                    target.settled(addedAt: addedAt, at: now)
                    #expect(1...8 ~= target.target)
                }
            }
        }
    }

    /// A source without end, and plugins that work on `workers` messages at a time.
    private func longestTime(
        callDuration: Duration,
        workers: Int,
        messages: Int = 4_000
    ) -> (wait: Duration, total: Duration) {
        let start = InFlightTargetTests.start
        var target = InFlightTarget(bound: 250, ackDeadline: .seconds(8))
        var freeAt = [MonotonicTime](repeating: start, count: workers)
        var inFlight: [(addedAt: MonotonicTime, settledAt: MonotonicTime)] = []
        var longest = (wait: Duration.zero, total: Duration.zero)
        var now = start
        for message in 0..<messages {
            while inFlight.count >= target.target {
                let (addedAt, settledAt) = inFlight.removeFirst()
                now = max(now, settledAt)
                target.settled(addedAt: addedAt, at: settledAt)
            }
            let worker = message % workers
            let startsAt = max(now, freeAt[worker])
            freeAt[worker] = startsAt + callDuration
            inFlight.append((now, freeAt[worker]))
            target.added(unsettled: inFlight.count)
            longest = (max(longest.wait, startsAt - now), max(longest.total, freeAt[worker] - now))
        }
        return longest
    }

    @Test(arguments: [1, 2, 7, 40, 333, 999, 1_000, 1_001, 3_999])
    func aPluginOfConstantDurationNeverExceedsTheAckDeadline(_ milliseconds: Int) {
        for workers in [1, 2, 8, 64] {
            let longest = longestTime(callDuration: .milliseconds(milliseconds), workers: workers)
            #expect(longest.total < .seconds(8), "\(workers) workers")
        }
    }

    @Test func aPluginThatIsSlowerThanTheAckDeadlineGetsOneMessageAtATime() {
        let longest = longestTime(callDuration: .seconds(9), workers: 1, messages: 100)
        #expect(longest.wait == .zero)
    }

    /// The core abandons a message whose call has not started by the ack deadline.
    @Test func aPluginOfVaryingDurationIsCalledWithinTheAckDeadline() {
        var random = SeededGenerator(seed: 22)
        for _ in 0..<300 {
            var connection = Connection()
            // Calls of one lane, each up to four times as long as the shortest.
            let shortest = Int.random(in: 1...1_000, using: &random)
            for _ in 0..<50 {
                let (count, addedAt) = (connection.target.target, connection.now)
                var wait = 0
                for message in 0..<count {
                    connection.target.added(unsettled: count - message)
                    #expect(wait < 8_000)
                    wait += Int.random(in: shortest...4 * shortest, using: &random)
                    connection.now = addedAt + .milliseconds(wait)
                    connection.target.settled(addedAt: addedAt, at: connection.now)
                }
            }
        }
    }
}
