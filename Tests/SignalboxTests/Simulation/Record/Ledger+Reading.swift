import SignalboxCore

extension Ledger {
    /// - Parameter registrations: the plugins by the number of their registration.
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

    /// First, as what `submit` decides at once is settled before it returns.
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
                // The inner ones end first.
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
