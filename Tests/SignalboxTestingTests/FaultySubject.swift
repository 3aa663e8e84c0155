import SignalboxCore
import SignalboxTesting

/// A faulty adapter and whoever sends to it.
struct FaultySubject: ConformanceSubject {
    var adapter: any Adapter { faulty }
    var batchBound: Int { faulty.batchBound }
    private let faulty: FaultyAdapter

    init(_ source: SourceName, _ fault: FaultyAdapter.Fault) {
        faulty = FaultyAdapter(source: source, fault: fault)
    }

    func send(_ messages: [ConformanceMessage]) async throws {
        faulty.state.change { $0.queue += messages }
    }

    func answer(to id: ActionID) async throws -> ConformanceAnswer {
        await faulty.state.until { $0.answers[id] != nil }
        guard let answer = faulty.state.value.answers[id] else { throw CancellationError() }
        return answer
    }

    func end() async {}
}
