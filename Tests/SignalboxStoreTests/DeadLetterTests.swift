import Signalbox
import SignalboxCore
import SignalboxStore
import SignalboxTesting
import Synchronization
import TestSupport
import Testing

/// Dead letters on disk: what they keep, and how they are replayed.
@Suite(.timeLimit(.minutes(10))) struct DeadLetterTests {
    struct Refund: Codable, Sendable {
        let amount: Int
        let currency: String
    }

    private func letters(_ folder: StoreFolder, _ filter: DeadLetterFilter = DeadLetterFilter()) throws
        -> [DeadLetterEntry]
    {
        var all: [DeadLetterEntry] = []
        try StoreAdministration(path: folder.store).forEachLetter(filter) { all.append($0) }
        return all
    }

    /// Leaves a dead letter with the amount 7, because the action has no plugin.
    private func leaveLetter(of action: ActionName, in folder: StoreFolder) async throws {
        try await run(at: folder.store, { _ in }) { adapter in
            #expect(await adapter.send(action, body: #"{"amount":7}"#).code == "unknownAction")
        }
    }

    @Test func aLetterKeepsEverything() async throws {
        let folder = try StoreFolder()
        let original = #"{"action":"refund","id":"r-1","body":{"amount":"ten","currency":"EUR"}}"#
        try await run(
            at: folder.store,
            { supervisor in
                try supervisor.register(Registration("refund", as: Refund.self, from: .source("push")) { _, _ in })
            }
        ) { adapter in
            #expect(await adapter.send(raw: Bytes(original)).code == "invalidBody")
            #expect(await adapter.send(raw: Bytes([0xFF, 0x00])).code == "malformed")
        }
        let all = try letters(folder)
        #expect(all.count == 2)
        let letter = all[0].letter
        #expect(letter.message.original == Bytes(original))
        #expect(letter.message.source == "push")
        #expect(letter.message.factsKind == "memory")
        #expect(letter.message.facts == Bytes(#"{"label":""}"#))
        #expect(letter.message.action == "refund")
        #expect(letter.message.id == ActionID("r-1"))
        #expect(letter.message.hasSenderID)
        #expect(letter.reason == "invalidBody")
        #expect(letter.path == "body.amount")
        #expect(letter.plugin == "refund")
        #expect(letter.explanation.text?.contains(#""stage":"body""#) == true)
        #expect(all[0].failures == 1)
        #expect(all[0].firstAt == all[0].lastAt)
        #expect(all[1].letter.message.original == Bytes([0xFF, 0x00]))
        #expect(all[1].letter.message.action == nil)
    }

    @Test func aFilterSelects() async throws {
        let folder = try StoreFolder()
        try await run(at: folder.store, { _ in }) { adapter in
            for action: ActionName in ["one", "two", "two"] { _ = await adapter.send(action) }
            _ = await adapter.send(raw: Bytes("["))
        }
        var filter = DeadLetterFilter()
        filter.action = "two"
        #expect(try letters(folder, filter).map(\.number) == [2, 3])
        filter.limit = 1
        #expect(try letters(folder, filter).map(\.number) == [3])
        filter = DeadLetterFilter()
        filter.reason = "malformed"
        #expect(try letters(folder, filter).map(\.number) == [4])
        filter.source = "other"
        #expect(try letters(folder, filter).isEmpty)
        filter = DeadLetterFilter()
        filter.numbers = [1, 4]
        let administration = try StoreAdministration(path: folder.store)
        #expect(try administration.purge(filter) == 2)
        #expect(try administration.info().deadLetters == 2)
        #expect(try administration.count(DeadLetterFilter()) == 2)
    }

    @Test func aReplayedLetterIsHandledWithTodaysPlugins() async throws {
        let folder = try StoreFolder()
        try await run(at: folder.store, { _ in }) { adapter in
            #expect(await adapter.send("payment", id: ActionID("p-1"), body: #"{"amount":7}"#).code == "unknownAction")
        }
        let calls = EventList<Int>()
        let redelivered = EventList<Bool>()
        try await run(
            at: folder.store,
            { supervisor in
                try supervisor.register(
                    Registration("payment", as: Payment.self, from: .source("push")) { info, context in
                        redelivered.append(context.isRedelivered)
                        calls.append(info.amount)
                    }
                )
            }
        ) { adapter in
            // Another process requests the replay while this one runs.
            let requested = try StoreAdministration(path: folder.store).requestReplay(DeadLetterFilter())
            #expect(requested == [1])
            #expect(await calls.first(1) == [7])
        }
        #expect(redelivered.all == [true])
        #expect(try letters(folder).isEmpty)
    }

    @Test func aReplayThatFailsIsTheSameLetterWithOneMoreFailure() async throws {
        let folder = try StoreFolder()
        try await leaveLetter(of: "payment", in: folder)
        let calls = EventList<Int>()
        try await run(
            at: folder.store,
            { supervisor in
                try supervisor.register(
                    Registration("payment", as: Payment.self, from: .source("push")) { info, _ in
                        calls.append(info.amount)
                        throw Broken()
                    }
                )
            }
        ) { adapter in
            try StoreAdministration(path: folder.store).requestReplay(DeadLetterFilter())
            #expect(await calls.first(1) == [7])
        }
        let all = try letters(folder)
        #expect(all.map(\.number) == [1])
        #expect(all[0].failures == 2)
        #expect(all[0].letter.reason == "threw")
        #expect(all[0].letter.attempts == 1)
        #expect(!all[0].isToBeReplayed)
        #expect(all[0].lastAt > all[0].firstAt)
    }

    @Test func aLetterIsReplayedAsAnotherAction() async throws {
        let folder = try StoreFolder()
        try await leaveLetter(of: "pay", in: folder)
        let calls = EventList<Int>()
        try await run(
            at: folder.store,
            { supervisor in
                try supervisor.register(
                    Registration("payment", as: Payment.self, from: .source("push")) { info, _ in
                        calls.append(info.amount)
                    }
                )
            }
        ) { adapter in
            try StoreAdministration(path: folder.store).requestReplay(DeadLetterFilter(), as: "payment")
            #expect(await calls.first(1) == [7])
        }
        #expect(try letters(folder).isEmpty)
    }

    @Test func theOldestLettersAreDeletedAtTheLimit() async throws {
        let folder = try StoreFolder()
        var options = StoreOptions()
        options.deadLetters.count = 3
        let store = try Store(path: folder.store, options: options)
        let events = EventList<StoreEvent>()
        let supervisor = Supervisor.with(store)
        store.observe { events.append($0) }
        let adapter = InMemoryAdapter(source: "push")
        try supervisor.add(adapter)
        try await supervisor.whileRunning {
            for number in 0..<5 { _ = await adapter.send("nothing", body: "\(number)") }
        }
        try store.close()
        #expect(try letters(folder).map(\.number) == [3, 4, 5])
        #expect(events.all == [.lettersNearlyFull(percent: 100), .lettersDeleted(1), .lettersDeleted(1)])
    }
}
