import AdapterThreads

/// How long to wait before a broker is tried again.
///
/// Each wait is drawn at random between nothing and a ceiling that begins at ``first`` and doubles up to ``cap``, so
/// that many clients do not come back at once. After a refusal that only a changed configuration can cure (a bad
/// password, a client id in use elsewhere) the wait is drawn from ``slow``.
public struct MQTTReconnect: Sendable, Hashable {
    /// The first ceiling, 1 ms to ``cap``; 0.5 s by default.
    public var first: Duration
    /// The largest ceiling, at most 1 hour; 30 s by default.
    public var cap: Duration
    /// The range of waits after a fault of the configuration, 1 ms to 1 hour; 30 to 60 s by default.
    public var slow: ClosedRange<Duration>

    /// Waits as given.
    public init(
        first: Duration = .milliseconds(500),
        cap: Duration = .seconds(30),
        slow: ClosedRange<Duration> = .seconds(30) ... .seconds(60)
    ) {
        self.first = first
        self.cap = cap
        self.slow = slow
    }

    var backoff: ReconnectBackoff { ReconnectBackoff(first: first, cap: cap, slow: slow) }

    func validate() throws(MQTTPushError) {
        let allowed: ClosedRange<Duration> = .milliseconds(1) ... .seconds(3_600)
        guard allowed.contains(first), allowed.contains(cap), first <= cap else {
            throw MQTTPushError(
                .invalidConfiguration,
                "reconnect: the first wait is 1 ms up to the cap, and the cap at most 1 h"
            )
        }
        guard allowed.contains(slow.lowerBound), allowed.contains(slow.upperBound) else {
            throw MQTTPushError(.invalidConfiguration, "reconnect: the slow waits are 1 ms to 1 h")
        }
    }
}
