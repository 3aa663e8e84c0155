import SignalboxCore

/// What stands between the access rules and the lanes for one source: repeats, deadlines, its rate limit and the plugins'
/// circuit breakers, in this order.
struct Admission: Sendable {
    /// `nil` where repeats are not recognised.
    let repeats: SourceRepeats?
    let rate: SourceRate?
    private let isAlwaysAsked: Bool

    init(_ options: SourceOptions, _ features: AdapterFeatures, _ core: SupervisorCore) {
        let slows = features.contains(.redelivers)
        repeats = options.repeats.limits(for: features).map { SourceRepeats($0, core.configuration) }
        rate = options.rateLimit.map {
            SourceRate($0, slows: slows, tick: core.configuration.tick, at: core.now)
        }
        isAlwaysAsked = repeats != nil || rate != nil && !slows
    }

    /// Whether arrivals of the same batch for the same plugin must be looked at one by one.
    func isNeeded(for entry: PluginEntry, _ first: Arrival) -> Bool {
        isAlwaysAsked || entry.breaker != nil || first.isAmongDeadlines
    }

    /// How many arrivals of a batch may be taken, by the rate limit of a source that is slowed.
    func allowance(of count: Int, at now: UInt64) -> Int {
        guard let rate, rate.slows else { return count }
        return min(count, rate.available(at: now))
    }

    /// Counts what was taken, where the source is slowed.
    func took(_ count: Int, at now: UInt64) {
        if let rate, rate.slows { rate.take(count, at: now) }
    }

    /// Whether its rate limit lets a source that is slowed go on.
    func hasRoom(at now: UInt64) -> Bool {
        guard let rate, rate.slows else { return true }
        return rate.hasRoom(at: now)
    }

    /// Whether it must be told what becomes of what is meant for a plugin.
    func hears(of plugin: PluginEntry?) -> Bool { repeats != nil || plugin?.breaker != nil }

    /// Notes what became of an arrival.
    ///
    /// - Returns: its repeats, which are to have the same outcome.
    func settle(_ arrival: Arrival, _ outcome: Outcome, plugin: PluginEntry?, _ core: SupervisorCore)
        -> [RepeatFollower]
    {
        plugin?.breaker?.settle(arrival, outcome, at: core.now, core.logger)
        return repeats?.settle(arrival, outcome, at: core.now) ?? []
    }
}

extension RepeatPolicy {
    /// What is remembered of a source whose adapter has these features, or `nil` for nothing.
    func limits(for features: AdapterFeatures) -> RepeatLimits? {
        switch choice {
        case .automatic: features.contains(.stableIDs) ? RepeatLimits() : nil
        case .never: nil
        case .within(let limits): limits
        }
    }
}
