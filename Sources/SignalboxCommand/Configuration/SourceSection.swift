import Signalbox
import SignalboxCore

/// One entry of `sources`.
struct SourceSection: Sendable {
    /// The entry's key.
    let name: SourceName
    /// How to reach it.
    let mqtt: MQTTSection
    /// How much of it may be inside at once.
    let window: WindowLimits
}
