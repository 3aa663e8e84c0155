import AppScheme
import SignalboxTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct LinkInboxTests {
    /// Reads so many links in an iteration of its own.
    private static func read(_ count: Int, from inbox: LinkInbox) async -> [String] {
        var links: [String] = []
        var iterator = inbox.makeAsyncIterator()
        while links.count < count, let link = await iterator.next() { links.append(link) }
        return links
    }

    @Test func linksWaitAndComeOnceInTheirOrder() async {
        let inbox = LinkInbox()
        for link in ["a", "b", "c", "d"] { #expect(inbox.open(link)) }
        #expect(inbox.waiting == 4)
        #expect(await Self.read(1, from: inbox) == ["a"])
        #expect(inbox.open("e"))
        #expect(await Self.read(4, from: inbox) == ["b", "c", "d", "e"])
        #expect(inbox.waiting == 0)
    }

    @Test func whatDoesNotFitIsRefusedAndCounted() async {
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

    @Test func aClosedInboxRefusesDeliversWhatItHoldsAndEnds() async {
        let inbox = LinkInbox()
        inbox.open("a")
        inbox.close()
        #expect(!inbox.open("b"))
        #expect(inbox.refused == 1)
        #expect(await Self.read(.max, from: inbox) == ["a"])
        #expect(await Self.read(.max, from: inbox).isEmpty)
    }

    enum Waking: Sendable, CaseIterable { case open, close, cancel }

    /// Of two consumers of an empty inbox one ends because the other waits: when it has ended, the other does wait.
    @Test(arguments: Waking.allCases)
    func whoeverWaitsIsWoken(_ waking: Waking) async {
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

    @Test func aCancelledConsumerGetsNothingAndLeavesTheLinks() async {
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

    /// Links are opened by several tasks while consumers come and are cancelled.
    @Test func whatIsHeldIsDeliveredOnceWhoeverComesAndGoes() async {
        let inbox = LinkInbox(links: 20, bytes: 1_000)
        let seen = EventList<String>()
        let held = await withTaskGroup(of: [String].self) { group in
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
                    var held: [String] = []
                    for number in 0..<250 {
                        if inbox.open("\(writer)-\(number)") { held.append("\(writer)-\(number)") }
                        if number % 5 == 0 { await Task.yield() }
                    }
                    return held
                }
            }
            var held: [String] = []
            for await some in group { held += some }
            consumers.cancel()
            await consumers.value
            return held
        }
        seen.append(contentsOf: await Self.read(inbox.waiting, from: inbox))
        #expect(seen.all.sorted() == held.sorted())
        #expect(held.count + inbox.refused == 1_000)
        for writer in 0..<4 {
            let own = seen.all.filter { $0.hasPrefix("\(writer)-") }
            #expect(own == held.filter { $0.hasPrefix("\(writer)-") })
        }
    }
}
