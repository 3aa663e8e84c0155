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

    init(_ options: SourceOptions, _ features: AdapterFeatures, _ core: SupervisorCore) {
        let rate = options.rateLimit.map { SourceRate($0, tick: core.configuration.tick, at: core.now) }
        let slows = features.contains(.redelivers) || options.journal != nil
        deduplication = options.deduplication.limits(for: features).map { SourceDeduplication($0, core.configuration) }
        slowingRate = slows ? rate : nil
        rejectingRate = slows ? nil : rate
    }

    /// Returns whether each arrival of a batch for one plugin must be checked individually.
    func isNeeded(for entry: PluginEntry, _ first: Arrival) -> Bool {
        deduplication != nil || hasStagesAfterDeduplication(for: entry, first)
    }

    fileprivate func hasStagesAfterDeduplication(for entry: PluginEntry, _ first: Arrival) -> Bool {
        rejectingRate != nil || entry.breaker != nil || first.batchHasDeadlines
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
        let known = admission.deduplication?.check(slice.arrivals, in: range, sink: slice.sink, at: slice.tick) ?? []
        var start = range.lowerBound
        for arrival in known {
            admitNew(start..<arrival.position, for: entry, to: &parts, &verdicts)
            if let verdict = verdict(on: arrival, for: entry) { verdicts.append(verdict) }
            start = arrival.position + 1
        }
        admitNew(start..<range.upperBound, for: entry, to: &parts, &verdicts)
    }

    /// Takes arrivals that are not duplicates through the other stages.
    private mutating func admitNew(
        _ range: Range<Int>,
        for entry: PluginEntry,
        to parts: inout BatchParts,
        _ verdicts: inout [Verdict]
    ) {
        guard let first = range.first else { return }
        guard admission.hasStagesAfterDeduplication(for: entry, slice.arrivals[first]) else {
            return parts.add(range, for: entry)
        }
        for position in range {
            if let rejection = rejection(of: slice.arrivals[position], entry) {
                let one = slice.part(position..<position + 1, for: entry)
                verdicts.append(Verdict(slice: one, outcome: .rejected(rejection)))
            } else {
                parts.add(position..<position + 1, for: entry)
            }
        }
    }

    /// Returns the verdict on an arrival with a known id, or `nil` if the arrival is held.
    private func verdict(on known: KnownArrival, for entry: PluginEntry) -> Verdict? {
        let outcome: Outcome
        switch known.decision {
        case .first, .coalesced: return nil
        case .duplicate(let reply): outcome = .handled(reply: reply)
        case .conflict: outcome = .rejected(AdmissionPass.conflict)
        }
        let one = slice.part(known.position..<known.position + 1, for: entry)
        return Verdict(slice: one, outcome: outcome, isDuplicate: known.decision != .conflict)
    }

    private mutating func rejection(of arrival: Arrival, _ entry: PluginEntry) -> Outcome.Rejection? {
        if isExpired(arrival) { return AdmissionPass.expired }
        if let rate = admission.rejectingRate, rate.take(1, at: slice.tick) == 0 { return rate.rejection }
        return entry.breaker?.refusal(of: arrival, at: slice.tick)
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
