import Signalbox
import SignalboxCore

/// The events of a run, grouped by arrival, call and registration for the invariants.
///
/// Positions are indexes of the log. Comparing them gives the order of events.
struct Ledger: Sendable {
    let scenario: Scenario
    let events: [SimulationEvent]
    var registrations: [Registration]
    /// The arrivals that were taken, in the order of submission. `places` maps each mark to its index.
    var passages: [Passage] = []
    var places: [ArrivalMark: Int] = [:]
    /// The calls, in the order in which they began.
    var calls: [CallRecord] = []
    /// The calls that deliver an arrival and await its outcome, by that arrival.
    var deliverers: [ArrivalMark: Int] = [:]
    /// The number of arrivals that each `submit` took.
    var takings: [Taking] = []
    /// Contradictions in the log itself, such as an outcome for an arrival that was not taken.
    var faults: [Fault] = []
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

    struct Fault: Sendable {
        let at: Int
        let text: String
    }

    struct Ending: Sendable {
        let at: Int
        let report: SupervisorReport
    }

    func passage(_ mark: ArrivalMark) -> Passage? { places[mark].map { passages[$0] } }

    func message(of passage: Passage) -> MessageScenario { scenario.messages[passage.message] }

    func source(of passage: Passage) -> SourceScenario { scenario.sources[passage.mark.source] }

    func plugin(of call: CallRecord) -> PluginScenario { registrations[call.registration].plugin }
}

extension Ledger {
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
                    faults.append(Fault(at: position, text: "took \(count) of offer \(number), which has not as many"))
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
            places[one.mark] = passages.count
            passages.append(
                Passage(
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
        case .observed(let mark, let outcome, let attempts, let isRepeat):
            change(mark, at: position, "is observed") { passage in
                passage.observed.append(.init(at: position, outcome: outcome))
                passage.attemptsTold = attempts
                passage.isRepeat = isRepeat
            }
        case .middlewareBegan(let mark, let act, let attempt):
            change(mark, at: position, "passes middleware") {
                $0.middleware.append(.init(began: position, act: act, attempt: attempt))
            }
        case .middlewareEnded(let mark, let attempt):
            change(mark, at: position, "leaves middleware") { passage in
                // Inner middleware ends first.
                let open = passage.middleware.lastIndex { $0.attempt == attempt && $0.ended == nil }
                if let open { passage.middleware[open].ended = position }
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
            let intake = intakes.keys.filter { $0.source == source }.max { $0.life < $1.life }
            removals.append(Removal(number: number, source: source, from: position, intake: intake))
        case .left(let number, let isRemoved):
            guard let place = removals.firstIndex(where: { $0.number == number }) else { return }
            removals[place].until = position
            removals[place].isRemoved = isRemoved
            if !isRemoved { removals[place].intake = nil }
        default: break
        }
    }

    private mutating func change(
        _ mark: ArrivalMark,
        at position: Int,
        _ what: String,
        _ body: (inout Passage) -> Void
    ) {
        guard let place = places[mark], passages[place].offered < position else {
            return faults.append(Fault(at: position, text: "\(mark) \(what), and was not taken before"))
        }
        body(&passages[place])
    }

    private mutating func readCall(_ event: SimulationEvent, at position: Int) {
        switch event {
        case .callBegan(let number, let registration, let marks, let attempt):
            let place = calls.count
            calls.append(
                CallRecord(number: number, registration: registration, marks: marks, attempt: attempt, began: position)
            )
            for mark in marks { change(mark, at: position, "is called") { $0.calls.append(place) } }
        case .callEnded(let number, let result):
            guard let place = calls.lastIndex(where: { $0.number == number }), calls[place].ended == nil else {
                return faults.append(Fault(at: position, text: "call \(number) ended, and was not running"))
            }
            calls[place].ended = position
            calls[place].result = result
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
        for place in registrations.indices where registrations[place].plugin.action == action {
            if let from = registrations[place].from, from < position, registrations[place].until == nil {
                registrations[place].until = position
            }
        }
    }
}

extension Ledger {
    func length(of passage: Passage) -> Int { message(of: passage).text.utf8.count }

    /// Returns the arrivals that became dead letters, in the order of their outcomes.
    func deadLetters(before position: Int) -> [Passage] {
        let letters = passages.filter { $0.isSettled(before: position) && isDeadLetter($0) }
        return letters.sorted { ($0.observed.first?.at ?? 0) < ($1.observed.first?.at ?? 0) }
    }

    private func isDeadLetter(_ passage: Passage) -> Bool {
        guard !passage.isRepeat else { return false }
        return switch passage.outcome {
        case .rejected, .failed: true
        default: false
        }
    }

    /// Returns the calls that are still running after their arrivals were settled, as sorted `source/action` texts.
    func callsLeftRunning(at position: Int) -> [String] {
        let left = passages.filter { passage in
            passage.isSettled(before: position) && attempts(of: passage).contains { $0.isRunning(at: position) }
        }
        // A call of a batch plugin has several arrivals.
        var calls: Set<Int> = []
        let counted = left.filter { passage in
            guard let call = passage.calls.last, plugin(of: self.calls[call]).kind == .batch else { return true }
            return calls.insert(call).inserted
        }
        return counted.map { "\(source(of: $0).name)/p\(message(of: $0).action)" }.sorted()
    }

    func counts(of source: Int, before position: Int) -> OutcomeCounts {
        var counts = OutcomeCounts()
        for passage in passages where passage.mark.source == source && passage.isSettled(before: position) {
            switch passage.outcome {
            case .handled?: counts.handled += 1
            case .rejected?: counts.rejected += 1
            case .failed?: counts.failed += 1
            case .abandoned?: counts.abandoned += 1
            case nil: break
            }
            if passage.isRepeat { counts.repeats += 1 }
            if isLate(passage, position) || isLateInBatch(passage, position) { counts.lateReturns += 1 }
        }
        return counts
    }

    private func isLate(_ passage: Passage, _ position: Int) -> Bool {
        attempts(of: passage).contains { attempt in
            attempt.ended.map { $0 < position && passage.isSettled(before: $0) } ?? false
        }
    }

    /// Returns whether the arrival was left out of a batch call that returned late, and so counts as late too.
    private func isLateInBatch(_ passage: Passage, _ position: Int) -> Bool {
        guard passage.calls.isEmpty, let settled = passage.settled.first, passage.failure != nil || passage.isAbandoned
        else { return false }
        guard !passage.isRepeat, isLeftOutOfBatches(passage) else { return false }
        return calls.contains { call in
            guard plugin(of: call).kind == .batch, plugin(of: call).action == message(of: passage).action else {
                return false
            }
            let others = call.marks.compactMap { self.passage($0) }
            guard others.contains(where: { $0.taken == passage.taken }) else { return false }
            return call.isRunning(at: settled.at) && call.ended.map { $0 < position } ?? false
        }
    }
}
