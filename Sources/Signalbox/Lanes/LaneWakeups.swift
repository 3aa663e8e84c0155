/// What is to be done once a lane's lock is released: places that get work, or begin.
struct LaneWakeups: Sendable {
    private struct Resumption: Sendable {
        let continuation: UnsafeContinuation<LaneWork?, Never>
        let work: LaneWork?
    }

    /// Mostly there is one, which needs no memory of its own.
    private var first: Resumption?
    private var others: [Resumption] = []
    private(set) var started: [LanePlace] = []

    mutating func resume(_ continuation: UnsafeContinuation<LaneWork?, Never>, with work: LaneWork?) {
        let resumption = Resumption(continuation: continuation, work: work)
        if first == nil { first = resumption } else { others.append(resumption) }
    }

    mutating func start(_ place: LanePlace) {
        started.append(place)
    }

    /// Lets the places that got work go on.
    func resume() {
        if let first { first.continuation.resume(returning: first.work) }
        for other in others { other.continuation.resume(returning: other.work) }
    }
}
