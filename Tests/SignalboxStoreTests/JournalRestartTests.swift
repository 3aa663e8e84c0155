import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import SignalboxStore

/// What a journal does with the messages of an earlier run, and with those that come back.
@Suite(.timeLimit(.minutes(10))) struct JournalRestartTests {
    @Test func whatAnEarlierRunHasLeftCountsForTheLimits() async throws {
        let folder = try StoreFolder()
        let durability = SourceDurability.journal(JournalLimits(rows: 4, age: .longerThanAnyTest))
        let (gate, calls) = (Gate(), EventList<Int>())
        let register: (Supervisor) throws -> Void = { supervisor in
            try supervisor.register(
                Registration("payment", as: Payment.self, from: .source("push")) { info, _ in
                    calls.append(info.amount)
                    await gate.pass()
                }
            )
        }
        try await run(at: folder.store, durability: durability, drainLimit: .milliseconds(50), register) { adapter in
            await adapter.pay(0..<4)
            await gate.untilArrived(1)
        }
        try await run(at: folder.store, durability: durability, register) { adapter in
            let more = await adapter.pay(4..<6, acknowledged: 0)
            await gate.untilArrived(2)
            #expect(adapter.acknowledged.isEmpty)
            gate.open()
            for message in more { #expect(await message.outcome == .handled(reply: nil)) }
        }
        #expect(calls.all.suffix(6) == Array(0..<6))
    }

    @Test func aMessageThatMiddlewareAbandonsIsDispatchedAgain() async throws {
        let folder = try StoreFolder()
        let calls = EventList<Int>()
        try await run(
            at: folder.store,
            durability: .journaled,
            { supervisor in
                supervisor.use(AbandonsFirst())
                try supervisor.register(
                    Registration("payment", as: Payment.self, from: .source("push")) { info, context in
                        #expect(context.isRedelivered)
                        calls.append(info.amount)
                    }
                )
            }
        ) { adapter in
            #expect(await adapter.pay(1..<2)[0].outcome == .handled(reply: nil))
        }
        #expect(calls.all == [1])
        #expect(try StoreAdministration(path: folder.store).info().journal.isEmpty)
    }

    /// What was given back waits outside the window, which has room for the message that ends the program.
    @Test func aMessageThatIsGivenBackDoesNotHideTheOneThatEndsTheProgram() async throws {
        let folder = try StoreFolder()
        let (gate, window) = (Gate(), WindowLimits(arrivals: 1))
        let poison = Registration("payment", as: Payment.self, from: .source("push")) { info, _ in
            if info.amount == 1 { throw GivesBack() }
            await gate.pass()
        }
        var path = folder.store
        for crash in 1...3 {
            let current = path
            try await run(
                at: current,
                durability: .journaled,
                window: window,
                drainLimit: .milliseconds(50),
                { try $0.register(poison) }
            ) { adapter in
                if crash == 1 { await adapter.pay(1..<3) }
                await gate.untilArrived(crash)
                path = try folder.copyAsCrashed(current, to: "crash-\(crash).db")
            }
        }
        let calls = EventList<Int>()
        try await run(
            at: path,
            durability: .journaled,
            window: window,
            { supervisor in
                try supervisor.register(
                    Registration("payment", as: Payment.self, from: .source("push")) { info, _ in
                        if info.amount == 1 { throw GivesBack() }
                        calls.append(info.amount)
                    }
                )
            }
        ) { adapter in
            #expect(await adapter.pay(3..<4)[0].outcome == .handled(reply: nil))
        }
        gate.open()
        #expect(calls.all == [3])
        var reasons: [String] = []
        try StoreAdministration(path: path).forEachLetter(DeadLetterFilter()) { reasons.append($0.letter.reason) }
        #expect(reasons == ["crashedPlugin"])
    }
}

/// Middleware that abandons what was not dispatched before.
private struct AbandonsFirst: Middleware {
    func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome {
        context.isRedelivered ? await next(context) : .abandoned(.stop)
    }
}
