import Foundation
import SignalboxTesting

/// A thread for work that does not return for long, so that the pool of the other tests keeps its own.
enum SimulationThread {
    /// What the work returned; `nil` when the test was cancelled first, as by its time limit.
    static func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value? {
        let result = Watched<Value?>(nil)
        let thread = Thread { result.change { [value = work()] in $0 = value } }
        thread.start()
        await result.until { $0 != nil }
        return result.value
    }
}
