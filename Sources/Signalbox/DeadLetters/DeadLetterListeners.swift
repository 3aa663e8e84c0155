import SignalboxCore
import Synchronization

/// Whoever listens to the dead letters of a supervisor. Any thread.
final class DeadLetterListeners: Sendable {
    private struct State {
        var all: [Int: AsyncStream<DeadLetter>.Continuation] = [:]
        var made = 0
        var hasEnded = false
    }

    private let state = Mutex(State())
    /// Looked at for every dead letter, so that a program without listeners takes no lock.
    private let isAnyone = Atomic<Bool>(false)
    private let lost = Atomic<Int>(0)

    /// How many letters listeners were too slow for.
    var undelivered: Int { lost.load(ordering: .relaxed) }

    func add(limit: Int) -> AsyncStream<DeadLetter> {
        precondition(limit >= 1, "a listener has room for at least 1 dead letter")
        let (stream, continuation) = AsyncStream.makeStream(
            of: DeadLetter.self,
            bufferingPolicy: .bufferingNewest(limit)
        )
        let number = state.withLock { state -> Int? in
            guard !state.hasEnded else { return nil }
            state.made += 1
            state.all[state.made] = continuation
            isAnyone.store(true, ordering: .releasing)
            return state.made
        }
        if let number {
            continuation.onTermination = { [weak self] _ in self?.remove(number) }
        } else {
            continuation.finish()
        }
        return stream
    }

    /// Without a lock held: a listener may be woken from here.
    func tell(_ letter: DeadLetter) {
        guard isAnyone.load(ordering: .acquiring) else { return }
        for continuation in state.withLock({ Array($0.all.values) }) {
            if case .dropped = continuation.yield(letter) { lost.wrappingAdd(1, ordering: .relaxed) }
        }
    }

    func end() {
        let all = state.withLock { state in
            state.hasEnded = true
            return state.all.values.map { $0 }
        }
        for continuation in all { continuation.finish() }
    }

    private func remove(_ number: Int) {
        state.withLock { state in
            state.all[number] = nil
            isAnyone.store(!state.all.isEmpty, ordering: .releasing)
        }
    }
}
