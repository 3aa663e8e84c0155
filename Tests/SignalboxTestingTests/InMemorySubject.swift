import SignalboxCore
import SignalboxTesting

/// An in-memory adapter and whoever sends to it.
final class InMemorySubject: ConformanceSubject {
    let adapter: any Adapter
    let batchBound = 10
    private let memory: InMemoryAdapter
    private let sent = Watched<[ActionID: InMemoryMessage]>([:])

    init(_ source: SourceName, features: AdapterFeatures) {
        memory = InMemoryAdapter(source: source, features: features, queueLimit: 20, batchLimit: batchBound)
        adapter = memory
    }

    func send(_ messages: [ConformanceMessage]) async throws {
        for message in messages {
            let posted = await memory.post(raw: Bytes(message.envelope))
            sent.change { $0[message.id] = posted }
        }
    }

    func answer(to id: ActionID) async throws -> ConformanceAnswer {
        await sent.until { $0[id] != nil }
        guard let message = sent.value[id] else { throw CancellationError() }
        return ConformanceAnswer(await message.outcome)
    }

    func end() async {}
}
