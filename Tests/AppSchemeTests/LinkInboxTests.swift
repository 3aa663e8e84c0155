import Logging
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import AppScheme

@Suite(.timeLimit(.minutes(10))) struct LinkInboxTests {
    /// Reads up to `count` links with a new iterator.
    private static func read(_ count: Int, from inbox: LinkInbox) async -> [String] {
        var links: [String] = []
        var iterator = inbox.makeAsyncIterator()
        while links.count < count, let link = await iterator.next() { links.append(link) }
        return links
    }

    @Test func linksWaitAndAreDeliveredOnceInOrder() async {
        let inbox = LinkInbox()
        for link in ["a", "b", "c", "d"] { #expect(inbox.open(link)) }
        #expect(inbox.waiting == 4)
        #expect(await Self.read(1, from: inbox) == ["a"])
        #expect(inbox.open("e"))
        #expect(await Self.read(4, from: inbox) == ["b", "c", "d", "e"])
        #expect(inbox.waiting == 0)
    }

    @Test func linksThatDoNotFitAreRefusedAndCounted() async {
        let inbox = LinkInbox(links: 2, bytes: 10)
        #expect(!inbox.open("12345678901"))
        #expect(inbox.open("123456"))
        #expect(!inbox.open("12345"))
        #expect(inbox.open("1234"))
        #expect(!inbox.open(""))
        #expect(inbox.refused == 3)
        #expect(await Self.read(1, from: inbox) == ["123456"])
        #expect(inbox.open("é4567"))
        #expect(inbox.refused == 3)
        #expect(await Self.read(2, from: inbox) == ["1234", "é4567"])
    }

    @Test func aClosedInboxDeliversOnlyQueuedLinks() async {
        let inbox = LinkInbox()
        inbox.open("a")
        inbox.close()
        #expect(!inbox.open("b"))
        #expect(inbox.refused == 1)
        #expect(await Self.read(.max, from: inbox) == ["a"])
        #expect(await Self.read(.max, from: inbox).isEmpty)
    }

    enum Waking: Sendable, CaseIterable { case open, close, cancel }

    /// One of two consumers of an empty inbox ends because the other waits. Once it has ended, the other is waiting.
    @Test(arguments: Waking.allCases)
    func aWaitingConsumerIsWoken(_ waking: Waking) async {
        let inbox = LinkInbox()
        await withTaskGroup(of: [String].self) { group in
            for _ in 0..<2 { group.addTask { await Self.read(1, from: inbox) } }
            #expect(await group.next() == [])
            switch waking {
            case .open: inbox.open("a")
            case .close: inbox.close()
            case .cancel: group.cancelAll()
            }
            #expect(await group.next() == (waking == .open ? ["a"] : []))
        }
    }

    @Test func aCancelledConsumerLeavesTheLinks() async {
        let inbox = LinkInbox()
        inbox.open("a")
        let reading = Task { () -> [String] in
            withUnsafeCurrentTask { $0?.cancel() }
            return await Self.read(1, from: inbox)
        }
        #expect(await reading.value.isEmpty)
        #expect(inbox.waiting == 1)
    }

    @Test func cancellingEndsTheWait() async {
        let inbox = LinkInbox()
        for _ in 0..<200 {
            let reading = Task { await Self.read(1, from: inbox) }
            reading.cancel()
            #expect(await reading.value.isEmpty)
        }
        inbox.open("a")
        #expect(await Self.read(1, from: inbox) == ["a"])
    }

    /// An iteration begins directly after another was cancelled, before the cancelled task has ended.
    @Test func anIterationMayBeginOnceTheWaitingOneIsCancelled() async {
        for _ in 0..<100 {
            let inbox = LinkInbox()
            await withTaskGroup(of: [String].self) { group in
                for _ in 0..<2 { group.addTask { await Self.read(1, from: inbox) } }
                #expect(await group.next() == [])
                group.cancelAll()
                async let read = Self.read(1, from: inbox)
                inbox.open("a")
                #expect(await read == ["a"])
            }
        }
    }

    /// Several tasks open links while consumers start and are cancelled.
    @Test func queuedLinksAreDeliveredOnceAcrossConsumers() async {
        let inbox = LinkInbox(links: 20, bytes: 1_000)
        let seen = EventList<String>()
        let accepted = await withTaskGroup(of: [String].self) { group in
            let consumers = Task {
                while !Task.isCancelled {
                    let consumer = Task { seen.append(contentsOf: await Self.read(3, from: inbox)) }
                    await Task.yield()
                    consumer.cancel()
                    await consumer.value
                }
            }
            for writer in 0..<4 {
                group.addTask {
                    var accepted: [String] = []
                    for number in 0..<250 {
                        if inbox.open("\(writer)-\(number)") { accepted.append("\(writer)-\(number)") }
                        if number % 5 == 0 { await Task.yield() }
                    }
                    return accepted
                }
            }
            var accepted: [String] = []
            for await some in group { accepted += some }
            consumers.cancel()
            await consumers.value
            return accepted
        }
        seen.append(contentsOf: await Self.read(inbox.waiting, from: inbox))
        #expect(seen.all.sorted() == accepted.sorted())
        #expect(accepted.count + inbox.refused == 1_000)
        for writer in 0..<4 {
            let own = seen.all.filter { $0.hasPrefix("\(writer)-") }
            #expect(own == accepted.filter { $0.hasPrefix("\(writer)-") })
        }
    }
}

/// The decisions of an inbox, without tasks.
@Suite struct LinkInboxStateTests {
    @Test func aReturnedLinkIsNextEvenBeyondTheLimits() {
        var queue = LinkQueue(links: 2, bytes: 2)
        let first = [queue.append("a"), queue.append("b")]
        let taken = queue.take()
        let third = queue.append("c")
        queue.putBack("a")
        #expect((queue.count, queue.byteCount) == (3, 3))
        let fourth = queue.append("d")
        #expect(first == [true, true])
        #expect(taken == "a")
        #expect((third, fourth) == (true, false))
        let rest = (0..<4).map { _ in queue.take() }
        #expect(rest == ["a", "b", "c", nil])
        #expect((queue.byteCount, queue.refused) == (0, 1))
    }

    @Test func aClosedQueueAcceptsReturnedLinks() {
        var queue = LinkQueue(links: 1, bytes: 9)
        let isQueued = queue.append("a")
        let taken = queue.take()
        queue.close()
        queue.putBack("a")
        let isQueuedLater = queue.append("b")
        let again = queue.take()
        #expect((isQueued, isQueuedLater) == (true, false))
        #expect([taken, again] == ["a", "a"])
    }

    @Test func aSecondConsumerEndsImmediately() {
        var state = LinkInboxState(queue: LinkQueue(links: 1, bytes: 9))
        guard case .wait(let woken) = state.next() else { return #expect(Bool(false), "the queue was not empty") }
        guard case .end = state.next() else { return #expect(Bool(false), "the second consumer did not end") }
        var other = LinkInboxState(queue: LinkQueue(links: 1, bytes: 9))
        guard case .wait(let unrelated) = other.next() else { return #expect(Bool(false), "the queue was not empty") }
        state.remove(unrelated)
        guard case .end = state.next() else { return #expect(Bool(false), "another wait's end ended this one") }
        let waiter = state.takeWaiter()
        let none = state.takeWaiter()
        #expect(waiter === woken && none == nil)
    }

    @Test func aCancelledConsumerLeavesItsPlace() {
        var state = LinkInboxState(queue: LinkQueue(links: 1, bytes: 9))
        guard case .wait(let woken) = state.next() else { return #expect(Bool(false), "the queue was not empty") }
        state.remove(woken)
        let none = state.takeWaiter()
        #expect(none == nil)
        guard case .wait = state.next() else { return #expect(Bool(false), "the next consumer does not wait") }
    }

    @Test func noConsumerWaitsForAnAvailableLink() {
        var state = LinkInboxState(queue: LinkQueue(links: 1, bytes: 9))
        guard case .wait(let woken) = state.next() else { return #expect(Bool(false), "the queue was not empty") }
        let isQueued = state.queue.append("a")
        let waiter = state.takeWaiter()
        #expect(isQueued && waiter === woken)
        guard case .link("a") = state.next() else { return #expect(Bool(false), "the link was not delivered") }
        state.queue.close()
        guard case .end = state.next() else { return #expect(Bool(false), "the closed queue did not end") }
    }
}

/// The other parts of a run: bounded state, and few log lines.
@Suite struct RunPartsTests {
    @Test func refusedLinksAreLoggedOncePerMinuteAndAtTheEnd() {
        let lines = EventList<String>()
        let inbox = LinkInbox(links: 1, bytes: 1)
        var log = LinkLog(Logger(label: "links") { _ in RecordingLog(lines) }, source: "links", inbox: inbox)
        let start = ContinuousClock.now
        func refuse(_ count: Int) {
            for _ in 0..<count { inbox.open("too long") }
        }
        log.logRefusals(at: start)
        refuse(3)
        log.logRefusals(at: start)
        refuse(4)
        log.logRefusals(at: start + .seconds(59))
        log.logRefusals(at: start + .seconds(60))
        refuse(5)
        log.logRefusals(at: start + .seconds(61))
        log.logRefusals(at: start + .seconds(62), isLast: true)
        log.logRefusals(at: start + .seconds(63), isLast: true)
        #expect(
            lines.all.map { $0.prefix { $0 != "(" && $0 != ":" } }
                == [3, 4, 5].map { "warning \($0) links were refused" }
        )
        #expect(lines.all.allSatisfy { $0.contains("source=links") })
    }

    @Test func eachRefusedLinkIsLoggedInOneRun() {
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

    @Test func aLinkSettledTwiceIsReportedOnce() async {
        let reported = CallList<String>()
        let settleAgain = Watched<LinkSink?>(nil)
        let sink = LinkSink { link, outcome in
            reported.add("\(link) \(outcome.code)")
            // Another thread could do this while the application is notified.
            if reported.all.count == 1 { settleAgain.value?.settle(1, .abandoned(.drain)) }
        }
        settleAgain.change { $0 = sink }
        sink.register(1, "a")
        sink.settle(1, .handled(reply: nil))
        sink.settle(1, .abandoned(.drain))
        sink.settle(2, .handled(reply: nil))
        await sink.waitUntilFewer(than: 1)
        #expect(reported.all == ["a handled"])
        // Breaks the retain cycle.
        settleAgain.change { $0 = nil }
    }

    @Test func originsAreSharedAndBounded() {
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
