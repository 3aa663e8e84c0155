/// Draws the waits between connections, as ``MQTTReconnect`` describes them.
struct ReconnectBackoff {
    private let waits: MQTTReconnect
    private var ceiling: Duration

    init(_ waits: MQTTReconnect) {
        self.waits = waits
        ceiling = waits.first
    }

    /// The broker took acknowledgements, or the connection was quiet for long: the next wait is a first one.
    mutating func succeeded() {
        ceiling = waits.first
    }

    /// The wait after a connection ended.
    ///
    /// - Parameter share: drawn at random from 0 to 1: where in its range the wait lies.
    mutating func next(isConfigurationFault: Bool, share: Double) -> Duration {
        if isConfigurationFault {
            return waits.slow.lowerBound + (waits.slow.upperBound - waits.slow.lowerBound) * share
        }
        defer { ceiling = min(ceiling * 2, waits.cap) }
        return ceiling * share
    }
}
