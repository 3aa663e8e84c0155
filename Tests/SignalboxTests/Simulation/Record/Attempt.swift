/// One attempt at an arrival: from where the first middleware or else the call began, to where it ended.
struct Attempt: Sendable {
    let number: Int
    var began: Int
    var ended: Int?

    func isRunning(at position: Int) -> Bool { began < position && ended.map { $0 > position } ?? true }
}

extension Ledger {
    /// The attempts at an arrival, in order.
    func attempts(of passage: Passage) -> [Attempt] {
        var attempts: [Attempt] = []
        let calls = passage.calls.map { self.calls[$0] }
        let ways = passage.middleware.map { Attempt(number: $0.attempt, began: $0.began, ended: $0.ended) }
        let all = ways + calls.map { Attempt(number: $0.attempt, began: $0.began, ended: $0.ended) }
        for one in all {
            guard let known = attempts.firstIndex(where: { $0.number == one.number }) else {
                attempts.append(one)
                continue
            }
            attempts[known].began = min(attempts[known].began, one.began)
            // Still running as long as a part of it is.
            if let ended = attempts[known].ended { attempts[known].ended = one.ended.map { max($0, ended) } }
        }
        return attempts.sorted { $0.began < $1.began }
    }
}
