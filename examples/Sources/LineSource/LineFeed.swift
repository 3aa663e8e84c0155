import SignalboxCore
import SignalboxTesting
import Synchronization

/// The remote end of the adapter in a test: the lines to read, and the answer to each.
final class LineFeed: ConformanceSubject {
    private typealias Line = (id: ActionID, text: String)

    private struct State {
        var waiting: [Line] = []
        var reader: CheckedContinuation<String?, Never>?
        /// The ids of the lines read in the current run, in order.
        var read: [ActionID] = []
        var answers: [ActionID: Outcome] = [:]
        var askers: [ActionID: CheckedContinuation<Outcome, Never>] = [:]
    }

    private let state = Mutex(State())
    private let source: SourceName

    init(source: SourceName) {
        self.source = source
    }

    var adapter: any Adapter {
        let lines = LineAdapter(
            source: source,
            lines: { [self] in
                state.withLock { $0.read = [] }
                return AsyncStream(unfolding: { await self.next() }, onCancel: { self.leave() })
            },
            answer: { [self] number, outcome in answered(Int(number) - 1, outcome) }
        )
        return FedAdapter(lines: lines) { [self] in end(.abandoned(.drain)) }
    }

    let batchBound = 1

    func send(_ messages: [ConformanceMessage]) async throws {
        for message in messages {
            let reader = state.withLock { state in
                state.waiting.append((message.id, message.envelope))
                defer { state.reader = nil }
                return state.reader
            }
            // Resumes the reader without a line, so that it takes the oldest one.
            reader?.resume(returning: nil)
        }
    }

    func answer(to id: ActionID) async throws -> ConformanceAnswer {
        let outcome = await withCheckedContinuation { asker in
            let known = state.withLock { state in
                if state.answers[id] == nil { state.askers[id] = asker }
                return state.answers[id]
            }
            if let known { asker.resume(returning: known) }
        }
        return ConformanceAnswer(outcome)
    }

    func end() async {}

    /// Answers the senders of unread lines after the end of a run.
    private func end(_ outcome: Outcome) {
        let askers = state.withLock { state in
            let waiting = state.waiting.map(\.id)
            state.waiting = []
            for id in waiting { state.answers[id] = outcome }
            return waiting.compactMap { state.askers.removeValue(forKey: $0) }
        }
        for asker in askers { asker.resume(returning: outcome) }
    }

    private func next() async -> String? {
        while !Task.isCancelled {
            if let line = take() { return line }
            if let line = await untilWoken() { return line }
        }
        return nil
    }

    private func take() -> String? {
        state.withLock { state in
            guard !state.waiting.isEmpty else { return nil }
            let line = state.waiting.removeFirst()
            state.read.append(line.id)
            return line.text
        }
    }

    private func untilWoken() async -> String? {
        await withCheckedContinuation { reader in
            let mayWait = state.withLock { state in
                guard state.waiting.isEmpty, !Task.isCancelled else { return false }
                state.reader = reader
                return true
            }
            if !mayWait { reader.resume(returning: nil) }
        }
    }

    private func leave() {
        let reader = state.withLock { state in
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: nil)
    }

    private func answered(_ position: Int, _ outcome: Outcome) {
        let asker = state.withLock { state -> CheckedContinuation<Outcome, Never>? in
            let id = state.read[position]
            state.answers[id] = outcome
            return state.askers.removeValue(forKey: id)
        }
        asker?.resume(returning: outcome)
    }
}

/// The adapter with a callback for the end of a run.
private struct FedAdapter: Adapter {
    let lines: LineAdapter
    let whenOver: @Sendable () -> Void

    var source: SourceName { lines.source }
    var features: AdapterFeatures { lines.features }

    func run(into intake: any Intake) async throws {
        defer { whenOver() }
        try await lines.run(into: intake)
    }
}
