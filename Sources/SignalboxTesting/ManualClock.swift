/// A clock that stands still until a test moves it. Any number of tasks may sleep on it; any thread.
///
/// Give it to a `Supervisor` and no timeout, drain limit or hold limit depends on how fast the test's machine is.
public final class ManualClock: Clock {
    /// A point in the clock's time.
    public struct Instant: InstantProtocol {
        /// How far it is from where the clock began.
        public var offset: Duration

        /// A point so far from where the clock began; its beginning by default.
        public init(offset: Duration = .zero) {
            self.offset = offset
        }

        /// The point that is so much later.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        /// How much later the other point is.
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        /// Earlier is less.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct State: Sendable {
        var now = Instant()
        var sleepers: [UInt64: Instant] = [:]
        /// How many sleeps have begun: the number of the next.
        var begun: UInt64 = 0

        /// - Returns: how many were woken.
        mutating func advance(by step: Duration) -> Int {
            now = now.advanced(by: step)
            let now = now
            let before = sleepers.count
            sleepers = sleepers.filter { $0.value > now }
            return before - sleepers.count
        }
    }

    private let state = Watched(State())

    /// A clock at its beginning.
    public init() {}

    /// Where the clock stands.
    public var now: Instant { state.value.now }

    /// Zero: it wakes a sleeper exactly when it is moved to its deadline or beyond.
    public var minimumResolution: Duration { .zero }

    /// How many tasks sleep now.
    public var sleepers: Int { state.value.sleepers.count }

    /// Returns when the clock has been moved to the deadline, at once when it stands there already.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
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

    /// Moves the clock and wakes everyone whose deadline has come; does not wait for what they do then.
    ///
    /// - Precondition: the clock is not moved back.
    public func advance(by step: Duration) {
        precondition(step >= .zero, "a clock is not moved back")
        state.change { _ = $0.advance(by: step) }
    }

    /// Waits until `count` tasks sleep; returns early when the task is cancelled.
    ///
    /// - Parameters:
    ///   - count: the number of sleeping tasks to wait for.
    ///   - file: the file in which the wait is said to stand when a test run is cut; the caller's by default.
    ///   - line: its line there.
    public func untilAsleep(_ count: Int = 1, file: StaticString = #fileID, line: UInt = #line) async {
        await state.until(file: file, line: line) { $0.sleepers.count >= count }
    }

    /// Moves the clock step by step: each time waits until somebody sleeps, moves, and waits until as many have gone to
    /// sleep as were woken. When it returns, what was due has been done.
    ///
    /// For timers that go on, such as a supervisor's: it waits for ever for a sleeper that was woken and never sleeps
    /// again. Returns early when the task is cancelled.
    ///
    /// - Parameters:
    ///   - count: how often the clock is moved.
    ///   - step: how far each time, at least zero.
    ///   - file: the file in which the wait is said to stand when a test run is cut; the caller's by default.
    ///   - line: its line there.
    public func tick(
        _ count: Int = 1,
        every step: Duration = .milliseconds(100),
        file: StaticString = #fileID,
        line: UInt = #line
    ) async {
        precondition(step >= .zero, "a clock is not moved back")
        for _ in 0..<count {
            guard await state.until(file: file, line: line, { !$0.sleepers.isEmpty }) else { return }
            let awaited = state.change { state in
                let woken = state.advance(by: step)
                return state.begun + UInt64(woken)
            }
            guard await state.until(file: file, line: line, { $0.begun >= awaited }) else { return }
        }
    }

    /// Moves the clock step by step, as with ``tick(_:every:file:line:)``, until `work` has returned: for work that ends only
    /// because time passes, such as a call of a plugin that hangs.
    public func tick<Result>(
        every step: Duration = .milliseconds(100),
        until work: () async throws -> Result
    ) async rethrows -> Result {
        async let _ = goOn(every: step)
        return try await work()
    }

    private func goOn(every step: Duration) async {
        while !Task.isCancelled {
            await tick(every: step)
            // Where a step wakes nobody, nothing above suspends.
            await Task.yield()
        }
    }
}
