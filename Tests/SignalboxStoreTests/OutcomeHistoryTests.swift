import SQLiteDatabase
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import SignalboxStore

/// The history of outcomes: what it has, and how it is bounded.
@Suite(.timeLimit(.minutes(10))) struct OutcomeHistoryTests {
    private func history(_ folder: StoreFolder, _ filter: HistoryFilter = HistoryFilter()) throws -> [HistoryEntry] {
        try StoreAdministration(path: folder.store).outcomes(filter, first: 100_000)
    }

    private var options: StoreOptions {
        var options = StoreOptions()
        options.history = HistoryRetention()
        return options
    }

    private func run(
        _ folder: StoreFolder,
        _ options: StoreOptions,
        durability: SourceDurability = .none,
        _ body: (InMemoryAdapter) async throws -> Void
    ) async throws {
        let store = try Store(path: folder.store, options: options)
        let supervisor = Supervisor.with(store)
        let adapter = InMemoryAdapter(source: "push", features: [.replies, .stableIDs])
        try supervisor.add(adapter, durability: durability)
        try supervisor.register(Registration("payment", as: Payment.self, from: .source("push")) { _, _ in })
        try supervisor.register(
            Registration("broken", as: RawBody.self, from: .source("push")) { _, _ in throw Broken() }
        )
        try await supervisor.whileRunning { try await body(adapter) }
        try store.close()
    }

    @Test(arguments: [SourceDurability.none, .journaled])
    func everyOutcomeIsAnEntry(_ durability: SourceDurability) async throws {
        let folder = try StoreFolder()
        try await run(folder, options, durability: durability) { adapter in
            _ = await adapter.send("payment", id: ActionID("p-1"), body: #"{"amount":7}"#)
            _ = await adapter.send("payment", id: ActionID("p-1"), body: #"{"amount":7}"#)
            _ = await adapter.send("payment", id: ActionID("p-2"), body: #"{"amount":"x"}"#)
            _ = await adapter.send("broken")
            _ = await adapter.send(raw: Bytes("["))
        }
        let entries = try history(folder)
        let records = entries.map(\.record)
        #expect(entries.map(\.number) == [1, 2, 3, 4, 5])
        #expect(records.map(\.reason) == ["handled", "handled", "invalidBody", "threw", "malformed"])
        #expect(records.map(\.outcome) == ["handled", "handled", "rejected", "failed", "rejected"])
        #expect(records.map(\.action) == ["payment", "payment", "payment", "broken", nil])
        #expect(records.map(\.id).prefix(3) == ["p-1", "p-1", "p-2"])
        #expect(records.map(\.isDuplicate) == [false, true, false, false, false])
        #expect(records.map(\.attempts) == [1, 0, 1, 1, 0])
        #expect(records[2].path == "body.amount")
        #expect(records.allSatisfy { $0.source == "push" && $0.settledAt > $0.receivedAt })
        #expect(try StoreAdministration(path: folder.store).info().outcomes == 5)
    }

    @Test func aFilterSelects() async throws {
        let folder = try StoreFolder()
        try await run(folder, options) { adapter in
            _ = await adapter.send("payment", body: #"{"amount":7}"#)
            _ = await adapter.send("payment", body: "{}")
            _ = await adapter.send("nothing")
        }
        func numbers(_ change: (inout HistoryFilter) throws -> Void) throws -> [Int64] {
            var filter = HistoryFilter()
            try change(&filter)
            return try history(folder, filter).map(\.number)
        }
        #expect(try numbers { $0.action = "payment" } == [1, 2])
        #expect(try numbers { $0.outcome = "rejected" } == [2, 3])
        #expect(try numbers { $0.outcome = "unknownAction" } == [3])
        #expect(try numbers { $0.source = "other" } == [])
        #expect(try numbers { $0.after = 1 } == [2, 3])
        #expect(try numbers { $0.limit = 1 } == [3])
        #expect(try numbers { ($0.action, $0.limit) = ("payment", 1) } == [2])
        let first = try StoreAdministration(path: folder.store).outcomes(HistoryFilter(), first: 2)
        #expect(first.map(\.number) == [1, 2])
        let second = try history(folder)[1].record.settledAt
        #expect(try numbers { $0.since = second } == [2, 3])
    }

    @Test func aStoreWithoutHistoryHasNone() async throws {
        let folder = try StoreFolder()
        try await run(folder, StoreOptions()) { adapter in _ = await adapter.send("nothing") }
        #expect(try history(folder).isEmpty)
    }

    @Test func theOldestEntriesAreDeletedAtTheLimits() async throws {
        let folder = try StoreFolder()
        var options = options
        options.history = HistoryRetention(count: 500)
        try await run(folder, options) { adapter in
            for _ in 0..<2_500 { _ = await adapter.send("payment", body: #"{"amount":7}"#) }
        }
        let numbers = try history(folder).map(\.number)
        #expect(numbers.last == 2_500)
        #expect((500...1_500).contains(numbers.count))
        #expect(numbers == Array((2_501 - Int64(numbers.count))...2_500))
        // The entries of an earlier run are too old for the next one, all but the last.
        options.history = HistoryRetention(age: .nanoseconds(1))
        try await run(folder, options) { adapter in _ = await adapter.send("payment", body: #"{"amount":7}"#) }
        #expect(try history(folder).map(\.number) == [2_501])
    }

    @Test func outcomesAreDroppedAndCountedWhileTooManyWait() async throws {
        let folder = try StoreFolder()
        let store = try Store(path: folder.store, options: options)
        let events = EventList<StoreEvent>()
        store.observe { events.append($0) }
        let record = OutcomeRecord(
            source: "push",
            action: "payment",
            id: nil,
            plugin: nil,
            outcome: "handled",
            reason: "handled",
            detail: "",
            path: nil,
            attempts: 1,
            isDuplicate: false,
            isRedelivered: false,
            receivedAt: store.now,
            settledAt: store.now
        )
        // Nothing is written while another change occupies the database.
        try store.pool.write { _ in
            for _ in 0..<(StoreWriter.maximumNotes + 7) { store.note(record) }
        }
        await store.flush()
        try store.close()
        #expect(try history(folder).count == StoreWriter.maximumNotes)
        #expect(events.all == [.historyDropped(7)])
    }
}
