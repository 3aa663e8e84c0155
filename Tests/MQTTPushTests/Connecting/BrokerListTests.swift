import Testing

@testable import MQTTPush

@Suite struct BrokerListTests {
    private let (a, b, c): (MQTTBroker, MQTTBroker, MQTTBroker)

    init() throws {
        (a, b, c) = (
            try MQTTBroker(url: "mqtt://a"), try MQTTBroker(url: "mqtt://b:1884"), try MQTTBroker(url: "mqtt://[::1]")
        )
    }

    private func list(_ order: MQTTBrokerOrder = .listed) -> Trial { Trial(BrokerList(a, [b, c], order: order)) }

    @Test func aRoundTriesEachBrokerOnceWithoutAWait() {
        let list = list()
        var tried: [MQTTBroker] = []
        var nexts: [BrokerList.Next] = []
        for _ in 0..<7 {
            tried.append(list.current)
            nexts.append(list.ended(.failed))
        }
        #expect(tried == [a, b, c, a, b, c, a])
        #expect(nexts == [.atOnce, .atOnce, .afterBackoff, .atOnce, .atOnce, .afterBackoff, .atOnce])
    }

    @Test func aSingleBrokerIsTriedAgainAfterAWait() {
        let list = Trial(BrokerList(a, [], order: .listed))
        for end in [BrokerList.End.lost, .failed, .unused, .returning, .failed] {
            #expect(list.ended(end) == .afterBackoff && list.current == a)
        }
        // A broker that refers to itself is not asked again at once.
        #expect(list.ended(.failed, reference: "a") == .afterBackoff)
        #expect(list.ended(.refused(until: list.time(30), wasOpen: false)) == .at(list.time(30)) && list.current == a)
    }

    @Test func aLostBrokerIsTriedLast() {
        let list = list()
        #expect(list.ended(.lost) == .afterBackoff && list.current == b)
        #expect(list.ended(.failed) == .atOnce && list.current == c)
        #expect(list.ended(.failed) == .atOnce && list.current == a)
        #expect(list.ended(.failed) == .afterBackoff && list.current == a)
        // The broker after a connection is the first of the list, not the next one.
        #expect(list.ended(.failed) == .atOnce && list.current == b)
        #expect(list.ended(.lost) == .afterBackoff && list.current == a)
    }

    @Test func brokersThatAcceptInVainDoNotHideAHealthyOne() {
        let list = list()
        #expect(list.ended(.unused) == .afterBackoff && list.current == b)
        #expect(list.ended(.unused) == .afterBackoff && list.current == c)
    }

    @Test func aClientThatEndsTheConnectionItselfReturnsToTheBroker() {
        let list = list()
        _ = list.ended(.failed)
        #expect(list.current == b && list.ended(.returning) == .afterBackoff && list.current == b)
        #expect(list.ended(.failed) == .atOnce && list.current == c)
        #expect(list.ended(.failed) == .afterBackoff)
    }

    @Test func aBrokerThatRefusesTheClientRests() {
        let list = list()
        let time = list.time(30)
        #expect(list.ended(.refused(until: time, wasOpen: false)) == .atOnce && list.current == b)
        var tried: [MQTTBroker] = []
        for _ in 0..<6 {
            tried.append(list.current)
            _ = list.ended(.failed)
        }
        #expect(tried == [b, c, b, c, b, c])
        list.now = time
        // The round that has begun ends without the broker, which is then the first again.
        _ = list.ended(.failed)
        #expect(list.ended(.failed) == .afterBackoff && list.current == a)
    }

    @Test func aBrokerThatEndsAConnectionWithARefusalIsFollowedByAWait() {
        let list = list()
        _ = list.ended(.failed)
        #expect(list.current == b && list.ended(.refused(until: list.time(30), wasOpen: true)) == .afterBackoff)
        #expect(list.current == a && list.ended(.failed) == .atOnce && list.current == c)
        let single = Trial(BrokerList(a, [], order: .listed))
        #expect(single.ended(.refused(until: single.time(30), wasOpen: true)) == .at(single.time(30)))
    }

    @Test func theFirstToRestIsAskedFirstIfAllRefuse() {
        let list = list()
        #expect(list.ended(.refused(until: list.time(40), wasOpen: false)) == .atOnce)
        #expect(list.ended(.refused(until: list.time(20), wasOpen: false)) == .atOnce)
        #expect(list.ended(.refused(until: list.time(30), wasOpen: false)) == .at(list.time(20)) && list.current == b)
        list.now = list.time(20)
        #expect(list.ended(.refused(until: list.time(60), wasOpen: false)) == .at(list.time(30)) && list.current == c)
        list.now = list.time(30)
        #expect(list.ended(.failed) == .afterBackoff && list.current == c)
        list.now = list.time(45)
        #expect(list.ended(.failed) == .afterBackoff && list.current == a)
    }

    // MARK: - References

    @Test(
        arguments: [
            ("b:1884", 1), ("B:1884", 1), ("x b:1884", 1), ("[::1]", 2), ("[::1]:1883", 2), ("::1", 2),
            ("c [::1]:1883 a", 2),
            ("b", nil), ("b:1883", nil), ("x", nil), ("", nil), (" ", nil), ("mqtt://b:1884", nil), ("b:1884:", nil),
            (String(repeating: "x", count: 1_025) + " b:1884", nil),
            (String(repeating: "x", count: 1_017) + " b:1884", 1),
        ] as [(String, Int?)]
    )
    func aReferenceIsFollowedOnlyToAListedBroker(reference: String, to index: Int?) {
        for end in [BrokerList.End.failed, .lost, .unused, .refused(until: .now + .seconds(60), wasOpen: false)] {
            let list = list()
            let next = list.ended(end, reference: reference)
            guard let index else {
                #expect(list.current == b && (next == .atOnce) == (end != .lost && end != .unused))
                continue
            }
            #expect(next == .atOnce && list.current == [a, b, c][index])
        }
    }

    @Test func aRoundFollowsOneReference() {
        let list = list()
        #expect(list.ended(.failed, reference: "[::1]") == .atOnce && list.current == c)
        // The broker that has been skipped comes next, and nobody is asked twice.
        #expect(list.ended(.failed, reference: "a") == .atOnce && list.current == b)
        #expect(list.ended(.failed, reference: "a") == .afterBackoff && list.current == a)
        #expect(list.ended(.failed, reference: "[::1]") == .atOnce && list.current == c)
    }

    @Test(arguments: [BrokerList.End.lost, .unused])
    func brokersThatReferToEachOtherDoNotKeepTheClientBusy(end: BrokerList.End) {
        let list = list()
        var waits = 0
        for _ in 0..<20 where list.ended(end, reference: list.current == a ? "b:1884" : "a") != .atOnce { waits += 1 }
        #expect(waits >= 9)
    }

    @Test func aReferenceToABrokerThatRefusedIsNotFollowed() {
        let list = list()
        #expect(list.ended(.refused(until: list.time(30), wasOpen: false)) == .atOnce && list.current == b)
        #expect(list.ended(.failed, reference: "a") == .atOnce && list.current == c)
    }

    @Test func aShuffledRoundTriesEachBrokerInAnotherOrder() throws {
        let brokers = try (0..<16).map { try MQTTBroker(host: "h\($0)") }
        let list = Trial(BrokerList(brokers[0], Array(brokers[1...]), order: .shuffled))
        var rounds: [[MQTTBroker]] = []
        for _ in 0..<4 {
            var round: [MQTTBroker] = []
            repeat { round.append(list.current) } while list.ended(.failed) == .atOnce
            rounds.append(round)
        }
        for round in rounds { #expect(Set(round) == Set(brokers) && round.count == 16) }
        #expect(Set(rounds).count > 1)
        // A lost broker is tried last in a shuffled round as well.
        for _ in 0..<50 {
            let lost = list.current
            #expect(list.ended(.lost) == .afterBackoff && list.current != lost)
            var last = lost
            repeat { last = list.current } while list.ended(.failed) == .atOnce
            #expect(last == lost)
        }
    }
}

/// A list that expectations can change, with its clock.
private final class Trial {
    private let start = ContinuousClock.now
    var now: ContinuousClock.Instant
    private var list: BrokerList

    init(_ list: BrokerList) {
        self.list = list
        now = start
    }

    var current: MQTTBroker { list.current }

    func time(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

    func ended(_ end: BrokerList.End, reference: String? = nil) -> BrokerList.Next {
        list.ended(end, reference: reference, at: now)
    }
}
