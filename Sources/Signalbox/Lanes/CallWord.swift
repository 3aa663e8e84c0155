/// What a lane is doing, in one atomic word: the number of its current call and whether somebody has settled it.
///
/// The lane writes `running` and, when the plugin has returned, exchanges it for `idle`. The timer changes it in between
/// with compare-and-exchange, under the lane's lock. Whoever sees the other's mark knows what is left to do, so exactly
/// one of them settles the arrival.
struct CallWord: Sendable, Equatable {
    enum Phase: UInt64 {
        case idle = 0
        case running = 1
        /// Settled by the timer; the plugin has not returned.
        case expired = 2
        /// Still the lane's to settle, but the rest of its run has been taken away.
        case interrupted = 3
    }

    let rawValue: UInt64

    init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    init(_ phase: Phase, call number: UInt64) {
        rawValue = number << 2 | phase.rawValue
    }

    var number: UInt64 { rawValue >> 2 }

    var phase: Phase { Phase(rawValue: rawValue & 3) ?? .idle }

    /// The word of the following call, in the same phase.
    var next: CallWord { CallWord(rawValue: rawValue + 4) }

    func with(_ phase: Phase) -> CallWord { CallWord(phase, call: number) }
}
