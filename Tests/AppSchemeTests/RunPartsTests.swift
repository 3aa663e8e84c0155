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
