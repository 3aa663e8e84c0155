import Signalbox
import SignalboxCore

/// One entry of `sources`.
struct SourceSection: Sendable {
    /// The entry's key.
    let name: SourceName
    /// What kind of source it is, and how to reach it.
    let kind: SourceKind
    /// How much of it may be inside at once.
    let window: WindowLimits

    /// The source of what `signalbox send` sends; no entry may have this name.
    static let internalName: SourceName = "internal"
}
