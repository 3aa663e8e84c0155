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

/// Takes arrivals of one batch through the stages before their lane. One thread, under the intake's lock.
struct AdmissionPass {
    private enum Decision {
        case passes
        /// It repeats one that is running, which settles it.
        case follows
        case settled(Outcome, isRepeat: Bool)

        static func rejected(_ rejection: Outcome.Rejection) -> Decision {
            .settled(.rejected(rejection), isRepeat: false)
        }
    }

    private let admission: Admission
    private let run: LaneRun
    /// Read once per batch, and only when an arrival has a deadline.
    private var time: ContinuousClock.Instant?

    init(_ admission: Admission, _ run: LaneRun) {
        self.admission = admission
        self.run = run
    }

    /// Adds what may call the plugin to the parts, and what is decided to the verdicts.
    mutating func admit(
        _ range: Range<Int>,
        for entry: PluginEntry,
        to parts: inout BatchParts,
        _ verdicts: inout [IntakeVerdict]
    ) {
        for position in range {
            switch decide(run.arrivals[position], entry) {
            case .passes: parts.add(position..<position + 1, for: entry)
            case .follows: break
            case .settled(let outcome, let isRepeat):
                let one = run.part(position..<position + 1)
                verdicts.append(IntakeVerdict(run: one, outcome: outcome, plugin: entry, isRepeat: isRepeat))
            }
        }
    }

    private mutating func decide(_ arrival: Arrival, _ entry: PluginEntry) -> Decision {
        switch admission.repeats?.ask(arrival, sink: run.sink, at: run.tick) {
        case nil, .first: break
        case .follows: return .follows
        case .again(let reply): return .settled(.handled(reply: reply), isRepeat: true)
        case .conflict: return .rejected(AdmissionPass.conflict)
        }
        if isExpired(arrival) { return .rejected(AdmissionPass.expired) }
        if let rate = admission.rate, !rate.slows, rate.take(1, at: run.tick) == 0 {
            return .rejected(Outcome.Rejection(.overloaded, detail: rate.detail))
        }
        if let rejection = entry.breaker?.refusal(of: arrival, at: run.tick) { return .rejected(rejection) }
        return .passes
    }

    private mutating func isExpired(_ arrival: Arrival) -> Bool {
        guard arrival.hasDeadline, let deadline = arrival.uncheckedAction.deadline else { return false }
        let now = time ?? .now
        time = now
        return now >= deadline
    }

    static let conflict = Outcome.Rejection(
        .idConflict,
        detail: "the source gave this id to a message with another name or body, which is running or was handled"
    )

    private static let expired = Outcome.Rejection(.expired, detail: "its deadline passed before it was admitted")
}
