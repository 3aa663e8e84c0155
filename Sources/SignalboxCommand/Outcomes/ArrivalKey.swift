import SignalboxCore

/// What tells an arrival that is not settled yet from every other: its place in its batch's memory, which is nobody
/// else's as long as the arrival is kept.
struct ArrivalKey: Hashable {
    private let batch: ObjectIdentifier
    private let index: UInt32

    init(_ arrival: Arrival) {
        batch = ObjectIdentifier(arrival.storage)
        index = arrival.index
    }
}
