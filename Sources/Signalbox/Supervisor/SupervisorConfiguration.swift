/// The bounds and waits of a supervisor, which traps when one is not in its range.
public struct SupervisorConfiguration: Sendable {
    /// How long a plugin's call may take when its registration names no other time, above zero; 3 s by default. A call has at least
    /// this long and at most two ticks more.
    public var timeout: Duration = .seconds(3)
    /// How long a drain waits for what has begun or waits, at least zero; 10 s by default. What is left then is abandoned.
    public var drainLimit: Duration = .seconds(10)
    /// How long a source that can redeliver holds an arrival that has not begun, from its submission, at least zero; 5 s by
    /// default. What has not begun by then is abandoned, so that the source sends it again; a call that has begun has its
    /// timeout, so that the longest hold is both together and two ticks.
    public var holdLimit: Duration = .seconds(5)
    /// How often the one timer looks at the lanes, 1 ms to 60 s; 100 ms by default. Waits that begin between two ticks may be
    /// shorter by up to a tick; a call's timeout never is.
    public var tick: Duration = .milliseconds(100)
    /// What the store of dead letters keeps.
    public var deadLetters = DeadLetterLimits()
    /// The most log lines a second that a source's dead letters may cause, at least 1; 50 by default. What is over is
    /// counted and told in one line.
    public var logLinesPerSecond = 50
    /// Told of every arrival when it is decided, before its adapter is. Called on any thread, also at the same time on
    /// several; must not block.
    public var onOutcome: (@Sendable (SettledArrival) -> Void)?

    /// The defaults.
    public init() {}

    func check() {
        precondition(timeout > .zero, "a call may take more than no time")
        precondition(drainLimit >= .zero && holdLimit >= .zero, "the drain and hold limits are not below zero")
        precondition((.milliseconds(1) ... .seconds(60)).contains(tick), "a tick is 1 ms to 60 s")
        precondition(logLinesPerSecond >= 1, "at least 1 log line a second")
    }
}
