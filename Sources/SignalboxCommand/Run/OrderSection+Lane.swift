import Signalbox
import SignalboxCore

extension OrderSection {
    /// The order as a plugin with any body has it.
    var lane: LaneOrder<RawBody> {
        switch self {
        case .source: .source
        case .none: .none
        case .key(let path): .key { OrderKey(of: $0, at: path) }
        }
    }
}
