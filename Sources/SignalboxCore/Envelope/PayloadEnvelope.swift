/// How a payload that names its action itself does so: the envelopes a configuration can choose for a source.
public struct PayloadEnvelope: Sendable, Hashable, CustomStringConvertible {
    package enum Form: String, Sendable { case standard, apns, cloudEvents }
    package let form: Form

    /// ``Envelope/standard``.
    public static let standard = PayloadEnvelope(form: .standard)
    /// ``Envelope/apns``.
    public static let apns = PayloadEnvelope(form: .apns)
    /// ``Envelope/cloudEvents``.
    public static let cloudEvents = PayloadEnvelope(form: .cloudEvents)

    /// The word used in errors and explanations: `standard`, `apns` or `cloudEvents`.
    public var description: String { form.rawValue }

    /// The same as the kind of an arrival.
    public var kind: EnvelopeKind {
        switch form {
        case .standard: .standard
        case .apns: .apns
        case .cloudEvents: .cloudEvents
        }
    }
}
