import AdapterThreads
import Testing

@testable import MQTTPush

@Suite struct ReconnectingTests {
    private let waits = MQTTReconnect(first: .seconds(1), cap: .seconds(5), slow: .seconds(30) ... .seconds(60))

    private func next(_ backoff: inout ReconnectBackoff, slow: Bool = false) -> Duration {
        backoff.next(isConfigurationFault: slow, share: 1)
    }

    @Test func ceilingsDoubleUpToTheCapAndBeginAnewAfterSuccess() {
        var backoff = waits.backoff
        #expect(
            (0..<5).map { _ in next(&backoff) } == [.seconds(1), .seconds(2), .seconds(4), .seconds(5), .seconds(5)]
        )
        backoff.succeeded()
        #expect(next(&backoff) == .seconds(1))
    }

    @Test func aWaitLiesAnywhereInItsRange() {
        var backoff = waits.backoff
        #expect([0, 0.5].map { backoff.next(isConfigurationFault: false, share: $0) } == [.zero, .seconds(1)])
        let slow = [0, 0.5, 1].map { backoff.next(isConfigurationFault: true, share: $0) }
        #expect(slow == [.seconds(30), .seconds(45), .seconds(60)])
    }

    /// Without a lower bound a plugin that gives everything back would be called again at once.
    @Test func aWaitWhileMessagesAreGivenBackIsAtLeastHalfOfItsCeiling() {
        var backoff = waits.backoff
        let least = (0..<5).map { _ in backoff.next(isConfigurationFault: false, isHeld: true, share: 0) }
        #expect(least == [.milliseconds(500), .seconds(1), .seconds(2), .milliseconds(2_500), .milliseconds(2_500)])
        let most = backoff.next(isConfigurationFault: false, isHeld: true, share: 1)
        #expect(most == .seconds(5))
        let unbounded = backoff.next(isConfigurationFault: false, share: 0)
        #expect(unbounded == .zero)
        backoff.succeeded()
        let first = backoff.next(isConfigurationFault: false, isHeld: true, share: 0)
        #expect(first == .milliseconds(500))
    }

    @Test func aFaultOfTheConfigurationWaitsLongAndLeavesTheCeiling() {
        var backoff = waits.backoff
        #expect(next(&backoff, slow: true) == .seconds(60))
        #expect(next(&backoff) == .seconds(1))
    }

    @Test(arguments: [
        (132, true), (133, true), (134, true), (135, true), (136, false), (137, false), (138, true), (142, true),
        (139, false), (159, false), (200, false),
    ])
    func onlyCodesThatSomebodyMustActOnAreFaultsOfTheConfiguration(code: Int32, isFault: Bool) {
        #expect(ConnectionEnd.refused(ReasonCode(rawValue: code)).isConfigurationFault == isFault)
        #expect(ConnectionEnd.closed(ReasonCode(rawValue: code)).isConfigurationFault == isFault)
    }

    @Test func anEndSaysWhatHappenedWhereAndWhatToDo() throws {
        let broker = try MQTTBroker(host: "b", port: 1)
        #expect(
            ConnectionEnd.refused(ReasonCode(rawValue: 134)).sentence(about: broker)
                == "broker b:1 refused the connection: bad user name or password (134). Check username and password in "
                + "the configuration, and the broker's access rules"
        )
        #expect(
            ConnectionEnd.notConnected("connection refused").sentence(about: broker)
                == "broker b:1 cannot be reached: connection refused"
        )
    }

    @Test func oneLineOfAKindIsLetThroughPerMinuteAndTheOthersAreCounted() {
        var limit = LogLimit()
        let start = ContinuousClock.now
        #expect(limit.admit("lost", at: start) == 0)
        #expect(limit.admit("lost", at: start + .seconds(1)) == nil)
        #expect(limit.admit("lost", at: start + .seconds(59)) == nil)
        #expect(limit.admit("silent", at: start + .seconds(59)) == 0)
        #expect(limit.admit("lost", at: start + .seconds(60)) == 2)
        #expect(limit.admit("lost", at: start + .seconds(61)) == nil)
    }

    @Test func aHeldBatchPingsEachHalfKeepalive() {
        let start = ContinuousClock.now
        var pings = HoldPings(keepalive: .seconds(10), from: start)
        #expect(pings.limit(at: start) == .seconds(5))
        let due = [4, 5, 9, 11].map { pings.isDue(at: start + .seconds($0)) }
        #expect(due == [false, true, false, true])
        var none = HoldPings(keepalive: .zero, from: start)
        let isDue = none.isDue(at: start + .seconds(3_600))
        #expect(!isDue)
    }

    @Test func aHeldBatchWithoutAConnectionWaitsInsteadOfSpinning() {
        let start = ContinuousClock.now
        var pings = HoldPings(keepalive: .seconds(10), from: start)
        #expect(pings.limit(at: start + .seconds(5)) == .zero)
        pings.isConnected = false
        #expect(pings.limit(at: start + .seconds(5)) == .seconds(60))
        let isDue = pings.isDue(at: start + .seconds(5))
        #expect(!isDue)
    }

    @Test func aStopDuringABlockingCallDoesNotWaitForIt() async throws {
        let control = try LoopControl()
        let result: Void? = control.blocking { control.stop() }
        #expect(result != nil)
        control.end(nil)
        #expect(await control.nextEvent() == .leftBehind)
        #expect(control.blocking {} == nil)
    }
}
