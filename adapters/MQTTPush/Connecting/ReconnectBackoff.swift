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
    mutating func next(isConfigurationFault: Bool, using generator: inout some RandomNumberGenerator) -> Duration {
        let share = Double.random(in: 0...1, using: &generator)
        if isConfigurationFault {
            return waits.slow.lowerBound + (waits.slow.upperBound - waits.slow.lowerBound) * share
        }
        defer { ceiling = min(ceiling * 2, waits.cap) }
        return ceiling * share
    }
}
