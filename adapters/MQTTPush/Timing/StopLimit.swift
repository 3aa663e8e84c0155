import AdapterSupport

/// Decides how long a client that must stop may still try to connect, because it has accepted work that it has not done.
/// Only the client's thread uses it.
final class StopLimit {
    private let bridge: ThreadBridge<MQTTPushError>
    private let time: Duration
    private let hasWork: () -> Bool
    private var end: ContinuousClock.Instant?

    /// - Parameters:
    ///   - time: How long a stop may take, from the moment at which the thread learns of it.
    ///   - hasWork: Whether work is left. By default, there is none, so a stop ends an attempt to connect at once.
    init(
        _ bridge: ThreadBridge<MQTTPushError>,
        time: Duration = .zero,
        hasWork: @escaping () -> Bool = { false }
    ) {
        self.bridge = bridge
        self.time = time
        self.hasWork = hasWork
    }

    /// When the stop must be over, or `nil` if the client does not have to stop.
    var deadline: ContinuousClock.Instant? {
        guard bridge.isStopping else { return nil }
        if end == nil { end = .now + time }
        return end
    }

    /// Whether an attempt to connect must end.
    var isDue: Bool {
        guard let deadline else { return false }
        return .now >= deadline || !hasWork()
    }
}
