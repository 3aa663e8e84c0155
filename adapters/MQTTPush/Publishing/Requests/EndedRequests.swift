/// The correlations of the requests that ended last, as many as may be in flight; older ones are forgotten.
struct EndedRequests {
    var bound = 1
    private var known: Set<[UInt8]> = []
    private var order: [[UInt8]] = []
    private var oldest = 0

    mutating func insert(_ correlation: [UInt8]) {
        guard known.insert(correlation).inserted else { return }
        guard order.count == bound else { return order.append(correlation) }
        known.remove(order[oldest])
        order[oldest] = correlation
        oldest = (oldest + 1) % bound
    }

    func contains(_ correlation: [UInt8]) -> Bool {
        known.contains(correlation)
    }
}
