import SQLiteDatabase
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import SignalboxStore

/// What the journal promises: acknowledged messages are handled, in order, by this run or by the next.
@Suite(.timeLimit(.minutes(10))) struct JournalTests {
    /// A plugin that notes its calls and waits for a gate.
    private func slow(_ calls: EventList<Int>, _ gate: Gate = Gate(isOpen: true)) -> Registration {
        Registration("payment", as: Payment.self, from: .source("push")) { info, context in
            calls.append(info.amount)
            await gate.pass()
        }
    }

    @Test func aMessageIsAcknowledgedWhileItsPluginRuns() async throws {
        let folder = try StoreFolder()
        let (calls, gate) = (EventList<Int>(), Gate())
        try await run(at: folder.store, durability: .journaled, { try $0.register(slow(calls, gate)) }) { adapter in
            let message = await adapter.pay(1..<2)[0]
            gate.open()
            #expect(await message.outcome == .handled(reply: nil))
        }
        #expect(try StoreAdministration(path: folder.store).info().journal.isEmpty)
    }

    @Test func theNextRunHandlesWhatIsLeftInOrder() async throws {
        let folder = try StoreFolder()
        let (calls, gate) = (EventList<Int>(), Gate())
        try await run(
            at: folder.store,
            durability: .journaled,
            drainLimit: .milliseconds(50),
            { supervisor in
                try supervisor.register(slow(calls, gate))
            }
        ) { adapter in
            await adapter.pay(0..<20)
            await gate.untilArrived(1)
        }
        gate.open()
        // The drain did not wait for the call in progress, so the message is handled again.
        #expect(calls.all == [0])
        let left = try StoreAdministration(path: folder.store).info().journal
        #expect(left["push"]?.rows == 20)
        let (again, redelivered) = (EventList<Int>(), EventList<Bool>())
        try await run(
            at: folder.store,
            durability: .journaled,
            { supervisor in
                try supervisor.register(
                    Registration("payment", as: Payment.self, from: .source("push")) { info, context in
                        redelivered.append(context.isRedelivered)
                        again.append(info.amount)
                    }
                )
            }
        ) { adapter in
            let message = await adapter.pay(20..<21)[0]
            #expect(await message.outcome == .handled(reply: nil))
        }
        #expect(again.all == Array(0...20))
        #expect(redelivered.all == Array(repeating: true, count: 20) + [false])
    }

    @Test func aMessageWithoutAnIDOfItsSenderKeepsTheIDThatItWasAssigned() async throws {
        let folder = try StoreFolder()
        let (ids, gate) = (EventList<ActionID>(), Gate())
        let plugin = Registration("payment", as: Payment.self, from: .source("push")) { _, context in
            ids.append(context.id)
            await gate.pass()
        }
        try await run(
            at: folder.store,
            durability: .journaled,
            drainLimit: .milliseconds(50),
            { try $0.register(plugin) }
        ) { adapter in
            await adapter.post("payment", body: #"{"amount":1}"#).untilAcknowledged()
            await gate.untilArrived(1)
        }
        gate.open()
        try await run(at: folder.store, durability: .journaled, { try $0.register(plugin) }) { _ in
            _ = await ids.first(2)
        }
        #expect(ids.all.count == 2 && Set(ids.all).count == 1)
    }

    @Test func aFullWindowWaitsOnDiskAndKeepsTheOrder() async throws {
        let folder = try StoreFolder()
        let (calls, gate) = (EventList<Int>(), Gate())
        let window = WindowLimits(arrivals: 8)
        try await run(at: folder.store, durability: .journaled, window: window, { try $0.register(slow(calls, gate)) })
        {
            adapter in
            await adapter.pay(0..<100)
            gate.open()
            let last = await adapter.pay(100..<101)[0]
            #expect(await last.outcome == .handled(reply: nil))
        }
        #expect(calls.all == Array(0...100))
    }

    @Test func atItsLimitTheJournalHoldsTheSourceBack() async throws {
        let folder = try StoreFolder()
        let (calls, gate) = (EventList<Int>(), Gate())
        let limits = JournalLimits(rows: 4, age: .longerThanAnyTest)
        try await run(at: folder.store, durability: .journal(limits), { try $0.register(slow(calls, gate)) }) {
            adapter in
            let messages = await adapter.pay(0..<10, acknowledged: 4)
            await gate.untilArrived(1)
            #expect(adapter.acknowledged.count == 4)
            gate.open()
            for message in messages { #expect(await message.outcome == .handled(reply: nil)) }
        }
        #expect(calls.all == Array(0..<10))
    }

    @Test func aDeadLetterLeavesTheJournalInTheSameCommit() async throws {
        let folder = try StoreFolder()
        try await run(
            at: folder.store,
            durability: .journaled,
            { supervisor in
                try supervisor.register(
                    Registration("payment", as: Payment.self, from: .source("push")) { _, _ in throw Broken() }
                )
            }
        ) { adapter in
            #expect(await adapter.send("payment", body: #"{"amount":1}"#).name == "failed")
            #expect(await adapter.send(raw: Bytes("no JSON")).code == "malformed")
        }
        let info = try StoreAdministration(path: folder.store).info()
        #expect(info.journal.isEmpty)
        #expect(info.deadLetters == 2)
    }

    /// A broker redelivers a message whose acknowledgement it has not read.
    @Test func aDuplicateLeavesTheJournalToo() async throws {
        let folder = try StoreFolder()
        let (calls, gate) = (EventList<Int>(), Gate())
        try await run(at: folder.store, durability: .journaled, { try $0.register(slow(calls, gate)) }) { adapter in
            let first = await adapter.pay(1..<2)[0]
            await gate.untilArrived(1)
            let coalesced = await adapter.pay(1..<2)[0]
            gate.open()
            #expect(await first.outcome == .handled(reply: nil))
            #expect(await coalesced.outcome == .handled(reply: nil))
            #expect(await adapter.pay(1..<2)[0].outcome == .handled(reply: nil))
        }
        #expect(calls.all == [1])
        #expect(try StoreAdministration(path: folder.store).info().journal.isEmpty)
    }

    @Test func aMessageLargerThanWhatIsLeftPassesWhileAQuarterIsFree() async throws {
        let folder = try StoreFolder()
        let calls = EventList<Int>()
        let limits = JournalLimits(bytes: 100, age: .longerThanAnyTest)
        try await run(at: folder.store, durability: .journal(limits), { try $0.register(slow(calls)) }) { adapter in
            let large = #"{"amount":1,"note":"\#(String(repeating: "x", count: 1_000))"}"#
            #expect(await adapter.send("payment", body: large) == .handled(reply: nil))
            for message in await adapter.pay(2..<20) { #expect(await message.outcome == .handled(reply: nil)) }
        }
        #expect(calls.all == Array(1..<20))
    }

    /// The drain limit passes while a dead letter waits for the disk.
    @Test func aFullDiskDoesNotKeepTheProgramFromEnding() async throws {
        let folder = try StoreFolder()
        let store = try Store(path: folder.store)
        let supervisor = Supervisor.with(store, drainLimit: .milliseconds(50))
        let (events, adapter) = (EventList<StoreEvent>(), InMemoryAdapter(source: "push", features: .redelivers))
        store.observe { events.append($0) }
        try supervisor.add(adapter)
        let message = try await supervisor.whileRunning {
            try store.limitPages(0)
            let message = await adapter.post("nothing", body: "\"\(String(repeating: "x", count: 9_000))\"")
            _ = await events.first(1)
            return message
        }
        #expect(!message.isAcknowledged)
    }

    @Test func aPluginThatGivesAMessageBackGetsItAgain() async throws {
        let folder = try StoreFolder()
        let calls = EventList<Int>()
        try await run(
            at: folder.store,
            durability: .journaled,
            { supervisor in
                try supervisor.register(
                    Registration("payment", as: Payment.self, from: .source("push")) { info, _ in
                        calls.append(info.amount)
                        if calls.all.count == 1 { throw GivesBack() }
                    }
                )
            }
        ) { adapter in
            #expect(await adapter.send("payment", body: #"{"amount":1}"#) == .handled(reply: nil))
        }
        #expect(calls.all == [1, 1])
    }
}

extension JournalTests {
    /// Amount 2 ends the program: its call never returns, and the files are copied as they are then.
    @Test func aMessageDuringWhichTheProgramEndsThreeTimesBecomesADeadLetter() async throws {
        let folder = try StoreFolder()
        let poison = Registration("payment", as: Payment.self, from: .source("push")) { info, _ in
            if info.amount == 2 { await Gate.poison.pass() }
        }
        var path = folder.store
        for crash in 1...3 {
            let (current, next) = (path, "crash-\(crash).db")
            let arrived = crash
            try await run(
                at: current,
                durability: .journaled,
                drainLimit: .milliseconds(50),
                { supervisor in
                    try supervisor.register(poison)
                }
            ) { adapter in
                if crash == 1 { await adapter.pay(0..<5) }
                await Gate.poison.untilArrived(arrived)
                path = try folder.copyAsCrashed(current, to: next)
            }
        }
        let calls = EventList<Int>()
        try await run(at: path, durability: .journaled, { try $0.register(slow(calls)) }) { adapter in
            #expect(await adapter.pay(9..<10)[0].outcome == .handled(reply: nil))
        }
        // What was in the window with it may be handled again, but is not lost.
        #expect(Set(calls.all).isSuperset(of: [3, 4, 9]))
        #expect(!calls.all.contains(2))
        var letters: [DeadLetterEntry] = []
        try StoreAdministration(path: path).forEachLetter(DeadLetterFilter()) { letters.append($0) }
        #expect(letters.map(\.letter.reason) == ["crashedPlugin"])
        #expect(letters.first?.letter.message.id == ActionID("p-2"))
        Gate.poison.open()
    }

    /// The database may not grow, as on a device without space.
    @Test func whileTheDiskIsFullNothingIsAcknowledgedAndNothingIsLost() async throws {
        let folder = try StoreFolder()
        let store = try Store(path: folder.store)
        let supervisor = Supervisor.with(store)
        let (events, calls) = (EventList<StoreEvent>(), EventList<Int>())
        store.observe { events.append($0) }
        let adapter = InMemoryAdapter(source: "push")
        try supervisor.add(adapter, durability: .journaled)
        try supervisor.register(slow(calls))
        try await supervisor.whileRunning {
            try store.limitPages(0)
            let message = await adapter.post(
                "payment",
                body: #"{"amount":1,"text":"\#(String(repeating: "x", count: 9_000))"}"#
            )
            _ = await events.first(1)
            #expect(!message.isAcknowledged)
            #expect(calls.all.isEmpty)
            try store.limitPages(1_000_000)
            #expect(await message.outcome == .handled(reply: nil))
        }
        try store.close()
        #expect(calls.all == [1])
        guard case .writeFailed(let reason)? = events.all.first else {
            Issue.record("\(events.all)")
            return
        }
        #expect(reason.contains("no space"))
        guard case .writable(let failures)? = events.all.last else {
            Issue.record("\(events.all)")
            return
        }
        #expect(failures >= 1)
    }
}

extension Gate {
    static let poison = Gate()
}

extension Store {
    /// Limits the size of the file. It never becomes smaller than it is.
    fileprivate func limitPages(_ count: Int) throws {
        try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = \(max(1, count))") }
    }
}

struct GivesBack: RetryableError {
    var whenExhausted: RetryExhaustion { .abandon }
}

extension InMemoryAdapter {
    /// Posts payments with the amounts, and waits until the first ones are acknowledged.
    @discardableResult
    func pay(_ amounts: Range<Int>, acknowledged count: Int? = nil) async -> [InMemoryMessage] {
        var messages: [InMemoryMessage] = []
        for amount in amounts {
            messages.append(await post("payment", id: ActionID("p-\(amount)"), body: #"{"amount":\#(amount)}"#))
        }
        for message in messages.prefix(count ?? messages.count) { await message.untilAcknowledged() }
        return messages
    }
}
