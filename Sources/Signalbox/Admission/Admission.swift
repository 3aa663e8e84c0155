import SignalboxCore

/// A source's stages between the access rules and the lanes. An arrival passes them in this order: deduplication,
/// deadline, rate limit, circuit breaker.
struct Admission: Sendable {
    /// The deduplication state, or `nil` if the source is not deduplicated.
    let deduplication: SourceDeduplication?
    /// The rate limit, if the source is slowed down when it exceeds the limit.
    let slowingRate: SourceRate?
    /// The rate limit, if arrivals over the limit are rejected.
    let rejectingRate: SourceRate?
    private let isAlwaysNeeded: Bool

    init(_ options: SourceOptions, _ features: AdapterFeatures, _ core: SupervisorCore) {
        let rate = options.rateLimit.map { SourceRate($0, tick: core.configuration.tick, at: core.now) }
        let slows = features.contains(.redelivers)
        deduplication = options.deduplication.limits(for: features).map { SourceDeduplication($0, core.configuration) }
        slowingRate = slows ? rate : nil
        rejectingRate = slows ? nil : rate
        isAlwaysNeeded = deduplication != nil || rejectingRate != nil
    }

    /// Returns whether each arrival of a batch for one plugin must be checked individually.
    func isNeeded(for entry: PluginEntry, _ first: Arrival) -> Bool {
        isAlwaysNeeded || entry.breaker != nil || first.batchHasDeadlines
    }

    /// Returns whether the caller must pass the outcomes of the plugin's arrivals to ``settle(_:_:plugin:_:)``.
    func needsOutcomes(of plugin: PluginEntry?) -> Bool { deduplication != nil || plugin?.breaker != nil }

    /// Records an arrival's outcome, so that the circuit breaker and later duplicates can take it into account.
    ///
    /// - Returns: The duplicates of the arrival, which receive the same outcome.
    func settle(_ arrival: Arrival, _ outcome: Outcome, plugin: PluginEntry?, _ core: SupervisorCore)
        -> [CoalescedDelivery]
    {
        plugin?.breaker?.settle(arrival, outcome, at: core.now, core.logger)
        return deduplication?.settle(arrival, outcome, at: core.now) ?? []
    }
}

extension DeduplicationPolicy {
    /// Returns the deduplication limits for an adapter with the given features, or `nil` if the adapter's messages are
    /// not deduplicated.
    func limits(for features: AdapterFeatures) -> DeduplicationLimits? {
        switch choice {
        case .automatic: features.contains(.stableIDs) ? DeduplicationLimits() : nil
        case .never: nil
        case .within(let limits): limits
        }
    }
}

/// Takes one batch through the stages before the lanes. The intake uses a pass on one thread, while holding its lock.
struct AdmissionPass {
    private enum Decision {
        case passes
        /// The arrival duplicates a running arrival, and both are settled together.
        case coalesced
        case settled(Outcome, isDuplicate: Bool)

        static func rejected(_ rejection: Outcome.Rejection) -> Decision {
            .settled(.rejected(rejection), isDuplicate: false)
        }
    }

    let admission: Admission
    let slice: BatchSlice
    /// The current time, which is read at most once per batch, and only if an arrival has a deadline.
    private(set) var time: ContinuousClock.Instant?

    /// Checks the arrivals, and adds those that may call the plugin to `parts` and those that are already decided to
    /// `verdicts`.
    mutating func admit(
        _ range: Range<Int>,
        for entry: PluginEntry,
        to parts: inout BatchParts,
        _ verdicts: inout [Verdict]
    ) {
        for position in range {
            switch decide(slice.arrivals[position], entry) {
            case .passes: parts.add(position..<position + 1, for: entry)
            case .coalesced: break
            case .settled(let outcome, let isDuplicate):
                let one = slice.part(position..<position + 1, for: entry)
                verdicts.append(Verdict(slice: one, outcome: outcome, isDuplicate: isDuplicate))
            }
        }
    }

    private mutating func decide(_ arrival: Arrival, _ entry: PluginEntry) -> Decision {
        switch admission.deduplication?.check(arrival, sink: slice.sink, at: slice.tick) {
        case nil, .first: break
        case .coalesced: return .coalesced
        case .duplicate(let reply): return .settled(.handled(reply: reply), isDuplicate: true)
        case .conflict: return .rejected(AdmissionPass.conflict)
        }
        if isExpired(arrival) { return .rejected(AdmissionPass.expired) }
        if let rate = admission.rejectingRate, rate.take(1, at: slice.tick) == 0 { return .rejected(rate.rejection) }
        if let rejection = entry.breaker?.refusal(of: arrival, at: slice.tick) { return .rejected(rejection) }
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
        detail: "the source already used this id for a message with a different name or body"
    )

    private static let expired = Outcome.Rejection(
        .expired,
        detail: "the deadline passed before the message was admitted"
    )
}
