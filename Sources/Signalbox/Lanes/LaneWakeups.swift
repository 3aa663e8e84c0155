/// What is to be done once a lane's lock is released: places that get work, or begin.
struct LaneWakeups: Sendable {
    private(set) var resumed: [(UnsafeContinuation<LaneWork?, Never>, LaneWork?)] = []
    private(set) var started: [LanePlace] = []

    mutating func resume(_ continuation: UnsafeContinuation<LaneWork?, Never>, with work: LaneWork?) {
        resumed.append((continuation, work))
    }

    mutating func start(_ place: LanePlace) {
        started.append(place)
    }
}
