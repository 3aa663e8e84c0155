/// Runs variants one after the other in each round, so that a machine that is busy for a while slows all of them.
struct Rounds {
    let count: Int

    /// Nanoseconds an operation, of each variant the median of the rounds.
    ///
    /// - Parameter operations: how many one call of a variant performs.
    func medians(operations: Int, _ variants: [() -> Int]) -> [Double] {
        var times = variants.map { _ in [Double]() }
        for variant in variants { sum &+= variant() }
        for _ in 0..<count {
            for (place, variant) in variants.enumerated() {
                let began = ContinuousClock.now
                sum &+= variant()
                times[place].append((ContinuousClock.now - began) / .nanoseconds(operations))
            }
        }
        return times.map { $0.sorted()[$0.count / 2] }
    }
}

// What the variants computed: without a use of it the compiler would leave them out. Only the benchmark's one thread that
// measures touches it.
nonisolated(unsafe) var sum = 0
