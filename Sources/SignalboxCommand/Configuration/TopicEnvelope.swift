import SignalboxCore

/// What names the action of a message where neither its topic nor the configuration does.
enum TopicEnvelope: String, Sendable, Hashable, CaseIterable {
    /// `{"action", "id", "body"}`.
    case standard
    /// The payload of a notification of Apple's push service.
    case apns
    /// CloudEvents 1.0 in its structured form.
    case cloudEvents = "cloud_events"

    /// The same as adapters know it.
    var payloadEnvelope: PayloadEnvelope {
        switch self {
        case .standard: .standard
        case .apns: .apns
        case .cloudEvents: .cloudEvents
        }
    }
}
