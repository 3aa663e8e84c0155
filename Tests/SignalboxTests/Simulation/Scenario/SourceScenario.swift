import Signalbox
import SignalboxCore

/// One source and what it sends when.
struct SourceScenario: Sendable {
    var index = 0
    var kind = Kind.adapter
    var features: AdapterFeatures = []
    var window = WindowLimits()
    var rateLimit: RateLimit?
    var repeats = Repeats.automatic
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

    /// Whether messages that come again are recognised; the time in ticks.
    enum Repeats: Sendable, Hashable {
        case automatic
        case never
        case within(count: Int, time: Int, bytes: Int)
    }

    /// Messages that are submitted together, so many ticks after the ones before.
    struct Feed: Sendable {
        var pause = 0
        var messages: [Int]
    }

    /// Whether its rate limit slows it, and refuses nothing.
    var isSlowed: Bool { features.contains(.redelivers) }

    var name: SourceName { SourceName(stringLiteral: "s\(index)") }

    var repeatPolicy: RepeatPolicy {
        switch repeats {
        case .automatic: .automatic
        case .never: .never
        case .within(let count, let time, let bytes):
            .within(RepeatLimits(count: count, time: Simulation.tick * time, bytes: bytes))
        }
    }

    /// How many ids are remembered for how many ticks, and with how many bytes of replies; `nil` when none are.
    var remembered: (count: Int, time: Int, bytes: Int)? {
        switch repeats {
        case .automatic: features.contains(.stableIDs) ? (10_000, 6_000, 1_000_000) : nil
        case .never: nil
        case .within(let count, let time, let bytes): (count, time, bytes)
        }
    }
}
