import SignalboxCore

@testable import Signalbox

/// The events of a run, grouped by arrival, call and registration for the invariants.
///
/// Positions are indexes of the log. Comparing them gives the order of events.
struct History: Sendable {
    let scenario: Scenario
    let events: [SimulationEvent]
    var registrations: [Registration]
    /// The arrivals that were taken, in the order of submission. `indexes` maps each mark to its index.
    var arrivals: [ArrivalHistory] = []
    var indexes: [ArrivalMark: Int] = [:]
    /// The calls, in the order in which they began.
    var calls: [CallRecord] = []
    /// The calls that deliver an arrival and await its outcome, by that arrival.
    var deliverers: [ArrivalMark: Int] = [:]
    /// The number of arrivals that each `submit` took.
    var takings: [Taking] = []
    /// Contradictions in the log itself, such as an outcome for an arrival that was not taken.
    var anomalies: [Anomaly] = []
    var began: Int?
    /// The position of the request for the shutdown or the cancellation.
    var stopped: Int?
    var ended: Ending?
    var quiet: Ending?
    /// All reports in order: those during the run, the one at its end, and the one after the last call has returned.
    var reports: [Ending] = []
    /// The messages of the dead letters stored at the end.
    var letters: [Int] = []
    var removals: [Removal] = []
    /// The position at which each intake was added.
    var intakes: [IntakeMark: Int] = [:]
    /// The tick at each position.
    var ticks: [Int] = []
    var offers: [Int: Offer] = [:]

    struct Registration: Sendable {
        let plugin: PluginScenario
        var from: Int?
        var until: Int?
    }

    struct Offer: Sendable {
        let at: Int
        let intake: IntakeMark
        let offered: [SimulationEvent.Offered]
    }

    /// The removal of a source, and the intake that it closes.
    struct Removal: Sendable {
        let number: Int
        let source: Int
        let from: Int
        var intake: IntakeMark?
        var until: Int?
        var isRemoved = false
    }

    struct Taking: Sendable {
        /// The positions of the call and of the return of `submit`.
        let from: Int
        let at: Int
        let intake: IntakeMark
        let count: Int
    }

    struct Anomaly: Sendable {
        let at: Int
        let text: String
    }

    struct Ending: Sendable {
        let at: Int
        let report: SupervisorReport
    }

    func arrival(_ mark: ArrivalMark) -> ArrivalHistory? { indexes[mark].map { arrivals[$0] } }

    func message(of arrival: ArrivalHistory) -> MessageScenario { scenario.messages[arrival.message] }

    func source(of arrival: ArrivalHistory) -> SourceScenario { scenario.sources[arrival.mark.source] }

    func plugin(of call: CallRecord) -> PluginScenario { registrations[call.registration].plugin }
}

extension History {
    /// - Parameter registrations: The plugins by the number of their registration.
    init(_ scenario: Scenario, registrations: [PluginScenario], events: [SimulationEvent]) {
        self.scenario = scenario
        self.events = events
        self.registrations = registrations.map { Registration(plugin: $0) }
        readTaken()
        var tick = 0
        for (position, event) in events.enumerated() {
            if case .tick(let now) = event { tick = now }
            ticks.append(tick)
            read(event, at: position)
        }
    }

    /// Runs first, because `submit` settles some arrivals before it returns.
    private mutating func readTaken() {
        for (position, event) in events.enumerated() {
            switch event {
            case .offers(let number, let intake, let offered):
                offers[number] = Offer(at: position, intake: intake, offered: offered)
            case .took(let number, let count):
                guard let offer = offers[number], count >= 0, count <= offer.offered.count else {
                    anomalies.append(
                        Anomaly(at: position, text: "took \(count) of offer \(number), which has fewer")
                    )
                    continue
                }
                take(offer, count, at: position)
            default: break
            }
        }
    }

    private mutating func take(_ offer: Offer, _ count: Int, at position: Int) {
        takings.append(Taking(from: offer.at, at: position, intake: offer.intake, count: count))
        for one in offer.offered.prefix(count) {
            indexes[one.mark] = arrivals.count
            arrivals.append(
                ArrivalHistory(
                    mark: one.mark,
                    intake: offer.intake,
                    message: one.message,
                    offered: offer.at,
                    taken: position
                )
            )
        }
    }

    private mutating func read(_ event: SimulationEvent, at position: Int) {
        switch event {
        case .acknowledged(let mark):
            change(mark, at: position, "may be acknowledged") { $0.acknowledged.append(position) }
        case .settled(let mark, let outcome):
            change(mark, at: position, "is settled") { $0.settled.append(.init(at: position, outcome: outcome)) }
        case .observed(let mark, let outcome, let attempts, let isDuplicate):
            change(mark, at: position, "is observed") { arrival in
                arrival.observed.append(.init(at: position, outcome: outcome))
                arrival.reportedAttempts = attempts
                arrival.isDuplicate = isDuplicate
            }
        case .middlewareBegan(let mark, let act, let attempt):
            change(mark, at: position, "passes middleware") {
                $0.middleware.append(.init(began: position, act: act, attempt: attempt))
            }
        case .middlewareEnded(let mark, let attempt):
            change(mark, at: position, "leaves middleware") { arrival in
                // Inner middleware ends first.
                let open = arrival.middleware.lastIndex { $0.attempt == attempt && $0.ended == nil }
                if let open { arrival.middleware[open].ended = position }
            }
        case .callBegan, .callEnded: readCall(event, at: position)
        case .delivers(let call, let mark): deliverers[mark] = call
        case .registered, .removed: readRegistration(event, at: position)
        case .added, .leaves, .left: readSource(event, at: position)
        case .runBegan: began = position
        case .shutDown, .cancelled: stopped = stopped ?? position
        case .reported, .runEnded, .quiet: readReport(event, at: position)
        default: break
        }
    }

    private mutating func readReport(_ event: SimulationEvent, at position: Int) {
        switch event {
        case .reported(let report): reports.append(Ending(at: position, report: report))
        case .runEnded(let report):
            ended = Ending(at: position, report: report)
            reports.append(Ending(at: position, report: report))
        case .quiet(let report, let kept):
            quiet = Ending(at: position, report: report)
            letters = kept
            reports.append(Ending(at: position, report: report))
        default: break
        }
    }

    private mutating func readSource(_ event: SimulationEvent, at position: Int) {
        switch event {
        case .added(let intake): intakes[intake] = position
        case .leaves(let number, let source):
            let intake = intakes.keys.filter { $0.source == source }.max { $0.generation < $1.generation }
            removals.append(Removal(number: number, source: source, from: position, intake: intake))
        case .left(let number, let isRemoved):
            guard let index = removals.firstIndex(where: { $0.number == number }) else { return }
            removals[index].until = position
            removals[index].isRemoved = isRemoved
            if !isRemoved { removals[index].intake = nil }
        default: break
        }
    }

    private mutating func change(
        _ mark: ArrivalMark,
        at position: Int,
        _ what: String,
        _ body: (inout ArrivalHistory) -> Void
    ) {
        guard let index = indexes[mark], arrivals[index].offered < position else {
            return anomalies.append(Anomaly(at: position, text: "\(mark) \(what), but was not taken before"))
        }
        body(&arrivals[index])
    }

    private mutating func readCall(_ event: SimulationEvent, at position: Int) {
        switch event {
        case .callBegan(let number, let registration, let marks, let attempt):
            let index = calls.count
            calls.append(
                CallRecord(number: number, registration: registration, marks: marks, attempt: attempt, began: position)
            )
            for mark in marks { change(mark, at: position, "is called") { $0.calls.append(index) } }
        case .callEnded(let number, let result):
            guard let index = calls.lastIndex(where: { $0.number == number }), calls[index].ended == nil else {
                return anomalies.append(Anomaly(at: position, text: "call \(number) ended, but was not running"))
            }
            calls[index].ended = position
            calls[index].result = result
        default: break
        }
    }

    private mutating func readRegistration(_ event: SimulationEvent, at position: Int) {
        let action: Int
        switch event {
        case .registered(let registration, let name):
            registrations[registration].from = position
            action = name
        case .removed(let name): action = name
        default: return
        }
        for index in registrations.indices where registrations[index].plugin.action == action {
            if let from = registrations[index].from, from < position, registrations[index].until == nil {
                registrations[index].until = position
            }
        }
    }
}

extension History {
    func length(of arrival: ArrivalHistory) -> Int { message(of: arrival).text.utf8.count }

    /// Returns the arrivals that became dead letters, in the order of their outcomes.
    func deadLetters(before position: Int) -> [ArrivalHistory] {
        let letters = arrivals.filter { $0.isSettled(before: position) && isDeadLetter($0) }
        return letters.sorted { ($0.observed.first?.at ?? 0) < ($1.observed.first?.at ?? 0) }
    }

    private func isDeadLetter(_ arrival: ArrivalHistory) -> Bool {
        guard !arrival.isDuplicate else { return false }
        return switch arrival.outcome {
        case .rejected, .failed: true
        default: false
        }
    }

    /// Returns the calls that are still running after their arrivals were settled, as sorted `source/action` texts.
    func callsLeftRunning(at position: Int) -> [String] {
        let left = arrivals.filter { arrival in
            arrival.isSettled(before: position) && attempts(of: arrival).contains { $0.isRunning(at: position) }
        }
        // A call of a batch plugin has several arrivals.
        var calls: Set<Int> = []
        let counted = left.filter { arrival in
            guard let call = arrival.calls.last, plugin(of: self.calls[call]).kind == .batch else { return true }
            return calls.insert(call).inserted
        }
        return counted.map { "\(source(of: $0).name)/p\(message(of: $0).action)" }.sorted()
    }

    func counts(of source: Int, before position: Int) -> OutcomeCounts {
        var counts = OutcomeCounts()
        for arrival in arrivals where arrival.mark.source == source && arrival.isSettled(before: position) {
            switch arrival.outcome {
            case .handled?: counts.handled += 1
            case .rejected?: counts.rejected += 1
            case .failed?: counts.failed += 1
            case .abandoned?: counts.abandoned += 1
            case nil: break
            }
            if arrival.isDuplicate { counts.duplicates += 1 }
            if isLate(arrival, position) || isLateInBatch(arrival, position) { counts.lateReturns += 1 }
        }
        return counts
    }

    private func isLate(_ arrival: ArrivalHistory, _ position: Int) -> Bool {
        attempts(of: arrival).contains { attempt in
            attempt.ended.map { $0 < position && arrival.isSettled(before: $0) } ?? false
        }
    }

    /// Returns whether the arrival was left out of a batch call that returned late, and so counts as late too.
    private func isLateInBatch(_ arrival: ArrivalHistory, _ position: Int) -> Bool {
        guard arrival.calls.isEmpty, let settled = arrival.settled.first, arrival.failure != nil || arrival.isAbandoned
        else { return false }
        guard !arrival.isDuplicate, isLeftOutOfBatches(arrival) else { return false }
        return calls.contains { call in
            guard plugin(of: call).kind == .batch, plugin(of: call).action == message(of: arrival).action else {
                return false
            }
            let others = call.marks.compactMap { self.arrival($0) }
            guard others.contains(where: { $0.taken == arrival.taken }) else { return false }
            return call.isRunning(at: settled.at) && call.ended.map { $0 < position } ?? false
        }
    }
}
