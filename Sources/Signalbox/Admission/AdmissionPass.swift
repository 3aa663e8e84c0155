import SignalboxCore

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
