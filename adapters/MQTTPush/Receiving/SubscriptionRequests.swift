/// The SUBSCRIBEs of one connection that wait for the broker's answers.
struct SubscriptionRequests {
    /// What the broker said about all filters that were asked for since the last such answer.
    struct Answer: Equatable {
        var asked: [String] = []
        var granted = 0
        var lowered: [String] = []
        var refused: [(filter: String, code: ReasonCode)] = []

        static func == (left: Answer, right: Answer) -> Bool {
            left.asked == right.asked && left.granted == right.granted && left.lowered == right.lowered
                && left.refused.elementsEqual(right.refused) { $0 == $1 }
        }
    }

    private var waiting: [Int32: SubscriptionGroup] = [:]
    private var answer = Answer()

    mutating func sent(_ group: SubscriptionGroup, packet: Int32) {
        waiting[packet] = group
    }

    var isEmpty: Bool { waiting.isEmpty }

    /// How many codes the answer to a packet may have, or `nil` when nobody asked.
    func expects(_ packet: Int32) -> Int? { waiting[packet]?.filters.count }

    /// Notes what the broker said about one packet.
    ///
    /// - Returns: what it said about all, when this was the last.
    mutating func answered(_ packet: Int32, _ codes: [ReasonCode]) -> Answer? {
        guard let group = waiting.removeValue(forKey: packet) else { return nil }
        answer.asked += group.filters
        for (filter, code) in zip(group.filters, codes) {
            if code.isFailure {
                answer.refused.append((filter, code))
                continue
            }
            answer.granted += 1
            if code.rawValue < Int32(group.quality.rawValue) { answer.lowered.append(filter) }
        }
        // What a broker says nothing of it has not granted.
        for filter in group.filters.dropFirst(codes.count) { answer.refused.append((filter, .unspecified)) }
        guard waiting.isEmpty else { return nil }
        defer { answer = Answer() }
        return answer
    }
}
