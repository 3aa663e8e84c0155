/// A guard against work that never ends.
enum TimeLimit {
    private enum Answer<Result: Sendable>: Sendable {
        case none
        case done(Result)
        case late
    }

    /// Does the work, and gives up on it after the limit: then `late` answers, and the work is cancelled and left behind.
    ///
    /// The tasks are nobody's children, as work that hangs would hold its parent for ever.
    static func within<Result: Sendable>(
        _ limit: Duration,
        _ work: @escaping @Sendable () async -> Result,
        late: () -> Result
    ) async -> Result {
        let answer = Watched(Answer<Result>.none)
        let working = Task.detached {
            let result = await work()
            answer.change { if case .none = $0 { $0 = .done(result) } }
        }
        let timing = Task.detached {
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            answer.change { if case .none = $0 { $0 = .late } }
        }
        await answer.until { if case .none = $0 { false } else { true } }
        timing.cancel()
        guard case .done(let result) = answer.value else {
            let result = late()
            working.cancel()
            return result
        }
        return result
    }
}
