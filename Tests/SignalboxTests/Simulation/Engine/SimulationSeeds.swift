import Foundation

/// Which seeds are run, as the environment says.
struct SimulationSeeds: Sendable {
    let all: [UInt64]
    /// Whether it was one that somebody wants to look at.
    let isReplay: Bool

    static let count: UInt64 = 3_000

    /// `SIGNALBOX_SEED=n` is one seed, `SIGNALBOX_SEEDS=n` the first n seeds, `SIGNALBOX_SEEDS=a-b` those from a to b.
    static var fromEnvironment: SimulationSeeds {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["SIGNALBOX_SEED"].flatMap(UInt64.init) {
            return SimulationSeeds(all: [seed], isReplay: true)
        }
        let ends = (environment["SIGNALBOX_SEEDS"] ?? "").split(separator: "-").compactMap { UInt64($0) }
        guard let last = ends.last, last > 0 else { return SimulationSeeds(all: Array(1...count), isReplay: false) }
        let first = ends.count == 2 ? ends[0] : 1
        return SimulationSeeds(all: Array(min(first, last)...last), isReplay: false)
    }

    /// What to type to see a seed again.
    static func replay(_ seed: UInt64) -> String {
        "SIGNALBOX_SEED=\(seed) swift test --disable-xctest --filter SimulationTests"
    }
}
