/// How long to wait before a server is tried again.
///
/// Each wait is drawn at random between nothing and a ceiling that begins at ``first`` and doubles up to ``cap``, so that
/// many clients do not come back at once. The ceiling falls back to ``first`` only when a connection held for ``holds``.
/// After a fault that mostly only a changed configuration cures the wait is drawn from ``slow``: the answers 400, 401,
/// 403, 404, 405, 407, 410, 426 and redirections, a connection that cannot be secured, a subprotocol that was not agreed
/// on, a secret that cannot be read.
public struct WebSocketReconnect: Sendable, Hashable {
    /// The first ceiling, 1 ms to ``cap``; 0.5 s by default.
    public var first: Duration
    /// The largest ceiling, at most 1 hour; 30 s by default.
    public var cap: Duration
    /// The range of waits after a fault of the configuration, 1 ms to 1 hour; 30 to 60 s by default.
    public var slow: ClosedRange<Duration>
    /// How long a connection must have been open to count as good, 0 to 1 hour; 10 s by default.
    public var holds: Duration

    /// Waits as given.
    public init(
        first: Duration = .milliseconds(500),
        cap: Duration = .seconds(30),
        slow: ClosedRange<Duration> = .seconds(30) ... .seconds(60),
        holds: Duration = .seconds(10)
    ) {
        self.first = first
        self.cap = cap
        self.slow = slow
        self.holds = holds
    }
}
