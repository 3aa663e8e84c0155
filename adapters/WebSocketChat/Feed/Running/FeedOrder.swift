/// What a run's task, and what works for it, asks of the service's thread.
enum FeedOrder: Sendable {
    /// The first order of a run.
    case begin(FeedPlan)
    /// Secrets and addresses for an attempt are there, or cannot be had.
    case prepared(FeedPlan, attempt: UInt64, Result<FeedPreparation, FeedEnd>)
    /// The wait before an attempt is over.
    case due(FeedPlan, attempt: UInt64)
    /// Read no more and connect no more.
    case stop(FeedPlan)
    /// All that was read is settled: say goodbye.
    case leave(FeedPlan)

    var plan: FeedPlan {
        switch self {
        case .begin(let plan), .prepared(let plan, _, _), .due(let plan, _), .stop(let plan), .leave(let plan): plan
        }
    }
}
