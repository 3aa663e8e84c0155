/// A clock that stands still until a test advances it, and that any number of tasks can sleep on. Safe to use from any
/// thread.
///
/// Pass this clock to a `Supervisor` in a test, so that timeouts, the drain limit and the ack deadline do not depend on
/// the speed of the machine.
public final class ManualClock: Clock {
    /// A point in time on this clock.
    public struct Instant: InstantProtocol {
        /// The time since the clock's start.
        public var offset: Duration

        /// Creates an instant at the given offset from the clock's start.
        public init(offset: Duration = .zero) {
            self.offset = offset
        }

        /// Returns the instant that is `duration` later.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        /// Returns the duration from this instant to `other`.
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        /// Returns whether the left instant is earlier than the right one.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct State: Sendable {
        var now = Instant()
        var sleepers: [UInt64: Instant] = [:]
        /// How many sleeps have been started. This number also identifies the latest sleep.
        var begun: UInt64 = 0

        /// Advances the clock, and wakes the sleepers whose deadline has passed.
        ///
        /// - Returns: The number of sleepers that were woken.
        mutating func advance(by step: Duration) -> Int {
            now = now.advanced(by: step)
            let now = now
            let before = sleepers.count
            sleepers = sleepers.filter { $0.value > now }
            return before - sleepers.count
        }
    }

    private let state = Watched(State())

    /// Creates a clock at offset zero.
    public init() {}

    /// The current instant.
    public var now: Instant { state.value.now }

    /// The clock's resolution, which is zero because a sleeper is woken exactly when the clock reaches or passes its
    /// deadline.
    public var minimumResolution: Duration { .zero }

    /// The number of tasks that are currently asleep.
    public var sleepers: Int { state.value.sleepers.count }

    /// Waits until the clock reaches the deadline. If the deadline has already been reached, this method returns
    /// immediately.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let number = state.change { state in
            state.begun += 1
            if state.now < deadline { state.sleepers[state.begun] = deadline }
            return state.begun
        }
        guard await state.until({ $0.sleepers[number] == nil }) else {
            state.change { $0.sleepers[number] = nil }
            throw CancellationError()
        }
    }

    /// Advances the clock, and wakes every sleeper whose deadline has passed. This method does not wait for the work
    /// that the woken sleepers do next.
    ///
    /// - Precondition: `step` is not negative.
    public func advance(by step: Duration) {
        precondition(step >= .zero, "a clock must not move back")
        state.change { _ = $0.advance(by: step) }
    }

    /// Waits until `count` tasks are asleep. If the task is cancelled, this method returns early.
    ///
    /// - Parameters:
    ///   - count: The number of sleeping tasks to wait for.
    ///   - file: The file to report for this wait if the test run hangs. The default is the caller's file.
    ///   - line: The line to report with `file`.
    public func untilAsleep(_ count: Int = 1, file: StaticString = #fileID, line: UInt = #line) async {
        await state.until(file: file, line: line) { $0.sleepers.count >= count }
    }

    /// Advances the clock step by step. When this method returns, all work that was due has been done.
    ///
    /// Each step waits for a sleeper, advances the clock, and then waits until as many tasks have fallen asleep as the
    /// step woke.
    ///
    /// Use this method for timers that repeat, such as a supervisor's timer. If a sleeper wakes and never sleeps again,
    /// this method does not return. It returns early if the task is cancelled.
    ///
    /// - Parameters:
    ///   - count: The number of steps.
    ///   - step: The length of a step, which must be at least zero.
    ///   - file: The file to report for this wait if the test run hangs. The default is the caller's file.
    ///   - line: The line to report with `file`.
    public func tick(
        _ count: Int = 1,
        every step: Duration = .milliseconds(100),
        file: StaticString = #fileID,
        line: UInt = #line
    ) async {
        precondition(step >= .zero, "a clock must not move back")
        for _ in 0..<count {
            guard await state.until(file: file, line: line, { !$0.sleepers.isEmpty }) else { return }
            let awaited = state.change { state in
                let woken = state.advance(by: step)
                return state.begun + UInt64(woken)
            }
            guard await state.until(file: file, line: line, { $0.begun >= awaited }) else { return }
        }
    }

    /// Advances the clock until `work` returns, in the same way as ``tick(_:every:file:line:)``. Use this method for
    /// work that ends only when time passes, such as a call to a plugin that hangs.
    public func tick<Result>(
        every step: Duration = .milliseconds(100),
        until work: () async throws -> Result
    ) async rethrows -> Result {
        async let _ = keepTicking(every: step)
        return try await work()
    }

    private func keepTicking(every step: Duration) async {
        while !Task.isCancelled {
            await tick(every: step)
            // If a step wakes no sleeper, nothing above suspends this task.
            await Task.yield()
        }
    }
}
