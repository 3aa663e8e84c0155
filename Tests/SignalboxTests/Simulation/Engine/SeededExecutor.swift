import Foundation
import Synchronization
import TestSupport

@testable import Signalbox

/// An executor that runs one job at a time on the thread that created it, and selects each next job by a seed.
///
/// Its work is a pure function of the seed, because no two jobs run at once and none reads the real time.
final class SeededExecutor: TaskExecutor {
    private struct State {
        var ready: [UnownedJob] = []
        var random: SeededGenerator
        var strays = 0
    }

    private let state: Mutex<State>
    private let thread = ObjectIdentifier(Thread.current)

    init(seed: UInt64) {
        state = Mutex(State(random: SeededGenerator(seed: seed)))
    }

    /// The number of jobs enqueued from another thread. If any was, the run is not reproducible.
    var strays: Int { state.withLock { $0.strays } }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isStray = ObjectIdentifier(Thread.current) != thread
        state.withLock { state in
            state.ready.append(job)
            if isStray { state.strays += 1 }
        }
    }

    /// Runs one of the ready jobs.
    ///
    /// - Returns: `false` if no job is ready.
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

/// The random choices of a simulation.
extension SeededGenerator {
    mutating func number(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.count))
    }

    /// Returns `true` with a probability in percent.
    mutating func chance(_ percent: Int) -> Bool { number(in: 1...100) <= percent }

    /// Returns one of the elements. The array must not be empty.
    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[number(in: 0...elements.count - 1)]
    }
}
