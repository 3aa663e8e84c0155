/// What makes a run of a supervisor repeatable: where its lanes' tasks run, and where its random numbers begin.
package struct Determinism: Sendable {
    /// Runs the lanes' tasks.
    package let executor: any TaskExecutor
    /// The seed of the waits between attempts.
    package let seed: UInt64

    package init(executor: any TaskExecutor, seed: UInt64) {
        self.executor = executor
        self.seed = seed
    }
}
