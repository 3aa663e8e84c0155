import SignalboxCore
import SignalboxTesting
import Testing

@testable import Signalbox

@Suite(.timeLimit(.minutes(10))) struct PushConformanceTests {
    @Test(arguments: [AdapterFeatures.replies, [.replies, .stableIDs]])
    func theAdapterConforms(_ features: AdapterFeatures) async {
        let report = await AdapterConformance { PushSubject($0, features) }.stress(times: 5, atOnce: 5)
        #expect(report.isConforming, "\(report)")
        #expect(report.passed == AdapterConformance.Case.allCases)
    }
}

/// An adapter and the program that feeds it.
struct PushSubject: ConformanceSubject {
    let push: PushAdapter<CallerFacts>
    var adapter: any Adapter { push }
    var batchBound: Int { push.batchLimit }
    private let submissions = Watched<[ActionID: PushSubmission]>([:])

    init(_ source: SourceName, _ features: AdapterFeatures) {
        push = PushAdapter(source: source, features: features, queueLimit: 20, batchLimit: 8)
    }

    func send(_ messages: [ConformanceMessage]) async throws {
        for message in messages {
            // Until a run begins, the adapter abandons messages that follow an earlier run.
            while !push.isRunning {
                try Task.checkCancellation()
                await Task.yield()
            }
            let submission =
                if let action = message.action {
                    await push.post(PushMessage(action, id: message.id, body: Bytes(message.body)))
                } else {
                    await push.post(PushMessage(raw: Bytes(message.envelope)))
                }
            submissions.change { $0[message.id] = submission }
        }
    }

    func answer(to id: ActionID) async throws -> ConformanceAnswer {
        await submissions.until { $0[id] != nil }
        guard let submission = submissions.value[id] else { throw CancellationError() }
        return ConformanceAnswer(await submission.outcome)
    }

    func end() async {}
}
