import Foundation
import Synchronization

@testable import Signalbox

/// Runs tasks one job at a time, on the thread that made it, and picks each next job by a seed.
///
/// What happens on it alone is a pure function of the seed: no two jobs run at once, and nothing asks the real time.
final class SeededExecutor: TaskExecutor {
    private struct State {
        var ready: [UnownedJob] = []
        var random: SimulationRandom
        var strays = 0
    }

    private let state: Mutex<State>
    private let thread = ObjectIdentifier(Thread.current)

    init(seed: UInt64) {
        state = Mutex(State(random: SimulationRandom(seed: seed)))
    }

    /// How many jobs came from another thread: something ran elsewhere, and the run cannot be repeated.
    var strays: Int { state.withLock { $0.strays } }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isStray = ObjectIdentifier(Thread.current) != thread
        state.withLock { state in
            state.ready.append(job)
            if isStray { state.strays += 1 }
        }
    }

    /// Runs one of the jobs that are ready.
    ///
    /// - Returns: `false` when there is none.
    func runNext() -> Bool {
        let next = state.withLock { state -> UnownedJob? in
            guard !state.ready.isEmpty else { return nil }
            let position = state.random.number(in: 0...state.ready.count - 1)
            state.ready.swapAt(position, state.ready.count - 1)
            return state.ready.removeLast()
        }
        next?.runSynchronously(on: asUnownedTaskExecutor())
        return next != nil
    }
}

/// Everything a simulation chooses comes from it.
struct SimulationRandom: RandomNumberGenerator, Sendable {
    private var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func next() -> UInt64 { random.next() }

    mutating func number(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.count))
    }

    /// `true` so many times in a hundred.
    mutating func chance(_ percent: Int) -> Bool { number(in: 1...100) <= percent }

    /// One of them; there must be one.
    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[number(in: 0...elements.count - 1)]
    }
}
