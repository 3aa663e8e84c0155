import Logging
import SignalboxCore
import SignalboxTesting
import Testing

@testable import AppScheme

/// What a run keeps beside the links: bounded, and quiet.
@Suite struct RunPartsTests {
    @Test func refusedLinksAreToldAtMostOnceAMinuteAndAllInTheEnd() {
        let lines = EventList<String>()
        let inbox = LinkInbox(links: 1, bytes: 1)
        var log = LinkLog(Logger(label: "links") { _ in RecordingLog(lines) }, source: "links", inbox: inbox)
        let start = ContinuousClock.now
        func refuse(_ count: Int) {
            for _ in 0..<count { inbox.open("too long") }
        }
        log.tellRefused(at: start)
        refuse(3)
        log.tellRefused(at: start)
        refuse(4)
        log.tellRefused(at: start + .seconds(59))
        log.tellRefused(at: start + .seconds(60))
        refuse(5)
        log.tellRefused(at: start + .seconds(61))
        log.tellRefused(at: start + .seconds(62), isLast: true)
        log.tellRefused(at: start + .seconds(63), isLast: true)
        #expect(
            lines.all.map { $0.prefix { $0 != "(" && $0 != ":" } }
                == [3, 4, 5].map { "warning \($0) links were refused" }
        )
        #expect(lines.all.allSatisfy { $0.contains("source=links") })
    }

    @Test func eachRefusedLinkIsToldOfInOneRun() {
        let lines = EventList<String>()
        let inbox = LinkInbox(links: 1, bytes: 1)
        func run(_ refused: Int) {
            var log = LinkLog(Logger(label: "links") { _ in RecordingLog(lines) }, source: "links", inbox: inbox)
            log.began()
            for _ in 0..<refused { inbox.open("too long") }
            log.ended(isCutShort: false)
        }
        for _ in 0..<2 { inbox.open("too long") }
        for refused in [3, 0, 4] { run(refused) }
        #expect(lines.all.map { $0.prefix { $0 != ":" } } == [2, 3, 4].map { "warning \($0) links were refused" })
    }

    @Test func aLinkThatIsSettledTwiceIsToldOnce() async {
        let told = CallList<String>()
        let settleAgain = Watched<LinkSink?>(nil)
        let sink = LinkSink { link, outcome in
            told.add("\(link) \(outcome.code)")
            // As another thread could while the application is told.
            if told.all.count == 1 { settleAgain.value?.settle(1, .abandoned(.drain)) }
        }
        settleAgain.change { $0 = sink }
        sink.expect(1, "a")
        sink.settle(1, .handled(reply: nil))
        sink.settle(1, .abandoned(.drain))
        sink.settle(2, .handled(reply: nil))
        await sink.untilFewer(than: 1)
        #expect(told.all == ["a handled"])
        // Else the two would keep each other.
        settleAgain.change { $0 = nil }
    }

    @Test func originsAreSharedAndTheirNumberHasABound() {
        var origins = LinkOrigins(source: "links")
        func facts(_ number: Int) -> LinkFacts { LinkFacts(scheme: "x\(number)", universalHost: nil) }
        let first = origins.origin(of: facts(0))
        for number in 1..<LinkOrigins.bound { _ = origins.origin(of: facts(number)) }
        #expect(origins.origin(of: facts(0)) === first)
        #expect(origins.known.count == LinkOrigins.bound)
        _ = origins.origin(of: facts(LinkOrigins.bound))
        #expect(origins.known.count == 1)
        #expect(origins.origin(of: facts(0)) !== first)
    }
}
