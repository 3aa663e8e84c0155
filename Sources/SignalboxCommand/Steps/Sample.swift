import SignalboxCore
import Synchronization

/// A step that hands on a share of the actions. Safe to use from any thread.
final class SampleStep: Sendable {
    private let section: SampleSection
    private let counted = Mutex(0)

    init(_ section: SampleSection) {
        self.section = section
    }

    /// Returns whether the action is handed on. Without a key, the first one is, and then every n-th.
    func passes(_ action: Action) -> Bool {
        if let isChosen = section.isChosen(action) { return isChosen }
        return counted.withLock { counted in
            defer { counted = (counted + 1) % section.interval }
            return counted == 0
        }
    }
}

extension SampleSection {
    /// Returns whether the key of the action is one of those that are handed on, or `nil` if there is no key.
    func isChosen(_ action: Action) -> Bool? {
        key.map { SampleSection.hash($0.json(for: action) ?? Bytes("null")) % UInt64(interval) == 0 }
    }

    /// Returns a hash that is the same in each run and on each machine, so that processes that share a subscription agree: FNV-1a,
    /// and the last step of MurmurHash3, without which the low bits of similar keys are alike.
    private static func hash(_ key: Bytes) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in key { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        hash = (hash ^ (hash >> 33)) &* 0xFF51_AFD7_ED55_8CCD
        hash = (hash ^ (hash >> 33)) &* 0xC4CE_B9FE_1A85_EC53
        return hash ^ (hash >> 33)
    }
}
