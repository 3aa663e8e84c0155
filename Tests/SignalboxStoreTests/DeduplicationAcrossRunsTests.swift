import Signalbox
import SignalboxCore
import SignalboxStore
import SignalboxTesting
import TestSupport
import Testing

/// Ids that are remembered across runs.
@Suite(.timeLimit(.minutes(10))) struct DeduplicationAcrossRunsTests {
    private func plugin(_ calls: EventList<Int>) -> Registration {
        Registration("payment", as: Payment.self, from: .source("push")) { info, _ in
            calls.append(info.amount)
            return info.amount
        }
    }

    @Test(arguments: [SourceDurability.none, .journaled])
    func aMessageIsHandledOnceInTwoRuns(_ durability: SourceDurability) async throws {
        let folder = try StoreFolder()
        let calls = EventList<Int>()
        for _ in 0..<2 {
            try await run(at: folder.store, durability: durability, { try $0.register(plugin(calls)) }) { adapter in
                let outcome = await adapter.send("payment", id: ActionID("p-1"), body: #"{"amount":7}"#)
                #expect(outcome == .handled(reply: Bytes("7")))
            }
        }
        #expect(calls.all == [7])
        try await run(at: folder.store, durability: durability, { try $0.register(plugin(calls)) }) { adapter in
            #expect(await adapter.send("payment", id: ActionID("p-1"), body: #"{"amount":8}"#).code == "idConflict")
            #expect(await adapter.send("payment", id: ActionID("p-2"), body: #"{"amount":8}"#).name == "handled")
        }
        #expect(calls.all == [7, 8])
    }

    @Test func anIDIsForgottenWhenItsTimeIsOver() async throws {
        let folder = try StoreFolder()
        let calls = EventList<Int>()
        for _ in 0..<2 {
            let store = try Store(path: folder.store)
            let supervisor = Supervisor.with(store)
            let adapter = InMemoryAdapter(source: "push")
            let limits = DeduplicationLimits(time: .nanoseconds(1))
            try supervisor.add(adapter, deduplication: .within(limits))
            try supervisor.register(plugin(calls))
            try await supervisor.whileRunning {
                _ = await adapter.send("payment", id: ActionID("p-1"), body: #"{"amount":7}"#)
            }
            try store.close()
        }
        #expect(calls.all == [7, 7])
    }

    @Test func afterACrashOnlyWhatWasNotCommittedIsHandledAgain() async throws {
        let folder = try StoreFolder()
        let calls = EventList<Int>()
        var copy = ""
        try await run(at: folder.store, { try $0.register(plugin(calls)) }) { adapter in
            _ = await adapter.send("payment", id: ActionID("p-1"), body: #"{"amount":1}"#)
            // Dead letters are on disk before they are settled, and commits keep the order.
            _ = await adapter.send("nothing")
            copy = try folder.copyAsCrashed(to: "crashed.db")
            _ = await adapter.send("payment", id: ActionID("p-2"), body: #"{"amount":2}"#)
        }
        try await run(at: copy, { try $0.register(plugin(calls)) }) { adapter in
            for number in 1...2 {
                let id = ActionID("p-\(number)")
                #expect(await adapter.send("payment", id: id, body: #"{"amount":\#(number)}"#).name == "handled")
            }
        }
        #expect(calls.all == [1, 2, 2])
    }
}
