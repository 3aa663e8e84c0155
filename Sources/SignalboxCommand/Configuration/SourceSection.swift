import Signalbox
import SignalboxCore

/// One entry of `sources`.
struct SourceSection: Sendable, Hashable {
    /// The entry's key.
    let name: SourceName
    /// What kind of source it is, and how to reach it.
    var kind: SourceKind
    /// How much of it may be inside at once.
    var window = WindowLimits()
    /// How much of it is let in; all of it when `nil`.
    var rateLimit: RateLimit?
    /// Whether messages that come again are recognised.
    var repeats = RepeatPolicy.automatic

    /// The source of what `signalbox send` sends; no entry may have this name.
    static let internalName: SourceName = "internal"
}
