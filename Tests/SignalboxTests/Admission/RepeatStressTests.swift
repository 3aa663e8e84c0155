import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct RepeatStressTests {
    /// Many threads send the same ids to a plugin that fails at times: no id is in two calls at once, none is called after
    /// it was handled, and every arrival is settled once.
    @Test func whoeverSendsAtTheSameTimeIsSettledOnce() async throws {
        let supervisor = Supervisor.make()
        let (ids, senders, rounds) = (20, 8, 100)
        let handled = Mutex<Set<String>>([])
        for action in ["one", "two"] {
            try supervisor.register(try ActionName(action), as: Empty.self, from: .source("push")) { _, context in
                let wasHandled = handled.withLock { $0.contains(context.id.text) }
                #expect(!wasHandled)
                await Task.yield()
                if context.id.text.utf8.reduce(0, { $0 &+ Int($1) }) & 1 == 0, Bool.random() { throw Broken() }
                let isFirst = handled.withLock { $0.insert(context.id.text).inserted }
                #expect(isFirst)
            }
        }
        let intake = try supervisor.intake(
            for: "push",
            features: .stableIDs,
            window: WindowLimits(arrivals: 1_000_000)
        )
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            await withTaskGroup { group in
                for sender in 0..<senders {
                    group.addTask {
                        for round in 0..<rounds {
                            let first = UInt64((sender * rounds + round) * ids)
                            let texts = (0..<ids).map {
                                message($0 % 2 == 0 ? "one" : "two", id: "\($0)-\(round / 10)")
                            }
                            #expect(intake.submit(arrivals(firstToken: first, texts), to: sink) == ids)
                            await Task.yield()
                        }
                    }
                }
            }
            await sink.untilSettled(ids * senders * rounds)
        }
        #expect(sink.outcomes.count == ids * senders * rounds)
        #expect(sink.outcomes.values.allSatisfy { $0.count == 1 })
        #expect(sink.acknowledged.count == ids * senders * rounds)
        #expect(supervisor.report.unsettled == 0)
    }
}
