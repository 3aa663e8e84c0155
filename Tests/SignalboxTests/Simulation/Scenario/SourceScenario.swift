import Signalbox
import SignalboxCore

/// One source and what it sends when.
struct SourceScenario: Sendable {
    var index = 0
    var kind = Kind.adapter
    var features: AdapterFeatures = []
    var window = WindowLimits()
    var rateLimit: RateLimit?
    var repeats = RepeatPolicy.automatic
    /// When it is added; before the supervisor runs when `nil`.
    var joinsAt: Int?
    var feeds: [Feed] = []
    /// How long it does nothing after it was told that there is room.
    var lingers = 0

    enum Kind: Sendable, Hashable {
        /// An adapter that waits for its cancellation when all is sent, or ends by itself.
        case adapter
        case endingAdapter
        /// `InMemoryAdapter` of the test kit.
        case inMemory
        /// No adapter: whoever sends has asked for an intake. Plugins that send use such a source.
        case intake
    }

    /// Messages that are submitted together, so many ticks after the ones before.
    struct Feed: Sendable {
        var pause = 0
        var messages: [Int]
    }

    var name: SourceName { SourceName(stringLiteral: "s\(index)") }
    var isAdapter: Bool { kind != .intake }
}
