import Signalbox
import SignalboxCore

extension Invariant {
    static let removalEndsInTime = Invariant(
        "removalEndsInTime",
        """
        The removal of a source ends within the drain limit. At its end, all arrivals of the source are settled except \
        those in running calls and their duplicates.
        """
    ) { history in
        history.removals.flatMap { removal -> [History.Anomaly] in
            guard removal.isRemoved, let intake = removal.intake, let until = removal.until else { return [] }
            var anomalies: [History.Anomaly] = []
            let limit = history.scenario.drainLimit
            let isRunning = history.began.map { $0 < removal.from } ?? false
            let ticks = history.ticks[until] - history.ticks[removal.from]
            if isRunning, ticks > limit + 2 {
                anomalies.append(
                    History.Anomaly(at: until, text: "the removal of \(intake) took \(ticks) ticks, limit \(limit)")
                )
            }
            for arrival in history.arrivals where arrival.intake == intake && !arrival.isSettled(before: until) {
                if history.isInCall(arrival, until) { continue }
                // A duplicate of an arrival in a call waits for that call.
                if history.arrivals.contains(where: { $0.isTwin(of: arrival) && history.isInCall($0, until) }) {
                    continue
                }
                anomalies.append(
                    History.Anomaly(at: until, text: "\(intake) is removed, but \(arrival.mark) is unsettled")
                )
            }
            return anomalies
        }
    }

    static let freeNamesCanBeAdded = Invariant(
        "freeNamesCanBeAdded",
        "A source whose name is free can be added until the supervisor drains."
    ) { history in
        // A source that ends by itself may be the last, and then the supervisor drains.
        guard !history.scenario.sources.contains(where: { $0.kind == .endingAdapter }) else { return [] }
        return history.events.enumerated().compactMap { position, event in
            guard case .notAdded(let source) = event, position < min(history.stopped ?? .max, history.ended?.at ?? .max)
            else { return nil }
            let generations = history.intakes.filter { $0.key.source == source && $0.value < position }.keys
            let left = history.removals.filter { $0.isRemoved && $0.until.map { $0 < position } ?? false }
            guard generations.allSatisfy({ generation in left.contains { $0.intake == generation } }) else {
                return nil
            }
            return History.Anomaly(at: position, text: "s\(source) was not added, although its name is free")
        }
    }
}

extension History {
    fileprivate func isInCall(_ arrival: ArrivalHistory, _ position: Int) -> Bool {
        isInBatchCall(arrival, position)
            || attempts(of: arrival).contains { attempt in
                // In the tick of the removal's end an attempt may begin, or fail so that a retry would follow.
                let isNow = [attempt.began, attempt.ended].contains { $0.map { ticks[$0] } == ticks[position] }
                return attempt.isRunning(at: position) || isNow
            }
    }
}

extension ArrivalHistory {
    fileprivate func isTwin(of other: ArrivalHistory) -> Bool {
        mark != other.mark && message == other.message && intake == other.intake
    }
}

extension Invariant {
    static let windowIsNotExceeded = Invariant(
        "windowIsNotExceeded",
        """
        The unsettled arrivals of a source do not exceed its window. One arrival may exceed the bytes while a quarter is \
        free.
        """
    ) { history in
        history.takings.compactMap { taking in
            guard taking.count > 0 else { return nil }
            let limits = history.scenario.sources[taking.intake.source].window
            let own = history.arrivals.filter { $0.intake == taking.intake }
            let earlier = own.filter { $0.taken < taking.at && !$0.isSettled(before: taking.from) }
            var count = earlier.count
            var bytes = earlier.reduce(0) { $0 + history.length(of: $1) }
            for arrival in own where arrival.taken == taking.at {
                let isRoomy = bytes <= limits.bytes - max(1, limits.bytes / 4)
                bytes += history.length(of: arrival)
                count += 1
                if count > limits.arrivals || (bytes > limits.bytes && !isRoomy) {
                    let text = "\(taking.intake): \(count) unsettled arrivals and \(bytes) bytes, limits \(limits)"
                    return History.Anomaly(at: taking.at, text: text)
                }
            }
            return nil
        }
    }

    static let signalledRoomIsAvailable = Invariant(
        "signalledRoomIsAvailable",
        """
        After `room()` returns, `submit` takes at least one arrival. Otherwise an adapter could retry endlessly.
        """
    ) { history in
        history.intakes.keys.flatMap { intake -> [History.Anomaly] in
            guard !history.scenario.isDeliveredThrough(intake.source) else { return [] }
            var hasRoom = false
            var inVain: Int?
            var anomalies: [History.Anomaly] = []
            for (position, event) in history.events.enumerated() {
                switch event {
                case .hasRoom(intake):
                    if let inVain {
                        let text = "\(intake) was notified of room, but submit took nothing"
                        anomalies.append(History.Anomaly(at: inVain, text: text))
                    }
                    inVain = nil
                    hasRoom = true
                case .isClosed(intake): inVain = nil
                case .took(let number, let count) where history.offers[number]?.intake == intake:
                    if hasRoom, count == 0 { inVain = position }
                    hasRoom = false
                default: break
                }
            }
            return anomalies
        }
    }

    static let roomIsSignalled = Invariant(
        "roomIsSignalled",
        "A caller of `room()` is notified as soon as a quarter of the window and of the rate limit is free."
    ) { history in
        var asking: Set<IntakeMark> = []
        var anomalies: [History.Anomaly] = []
        for (position, event) in history.events.enumerated() {
            switch event {
            case .waitsForRoom(let intake): asking.insert(intake)
            case .hasRoom(let intake), .isClosed(let intake): asking.remove(intake)
            case .tick:
                for intake in asking where history.hasRoom(intake, at: position) {
                    anomalies.append(
                        History.Anomaly(
                            at: position,
                            text: "\(intake) has room, but its waiting caller was not notified"
                        )
                    )
                    asking.remove(intake)
                }
            default: break
            }
        }
        return anomalies
    }

    static let closedIntakesTakeNothing = Invariant(
        "closedIntakesTakeNothing",
        """
        No arrival is taken from a source after its intake has closed, or after `run()` has returned.
        """
    ) { history in
        var closed: [IntakeMark: Int] = [:]
        for (position, event) in history.events.enumerated() {
            if case .isClosed(let intake) = event { closed[intake] = min(closed[intake] ?? position, position) }
        }
        for removal in history.removals {
            if let intake = removal.intake { closed[intake] = min(closed[intake] ?? removal.from, removal.from) }
        }
        return history.takings.compactMap { taking in
            let end = min(closed[taking.intake] ?? .max, history.ended?.at ?? .max)
            guard taking.count > 0, taking.from > end else { return nil }
            return History.Anomaly(
                at: taking.at,
                text: "\(taking.intake) is closed, but \(taking.count) arrivals were taken"
            )
        }
    }
}

extension History {
    fileprivate func hasRoom(_ intake: IntakeMark, at position: Int) -> Bool {
        // Several callers may wait for room, and each is notified separately.
        guard !scenario.isDeliveredThrough(intake.source) else { return false }
        let source = scenario.sources[intake.source]
        let inside = arrivals.filter { $0.intake == intake && $0.taken < position && !$0.isSettled(before: position) }
        let bytes = inside.reduce(0) { $0 + length(of: $1) }
        guard inside.count <= source.window.arrivals - max(1, source.window.arrivals / 4),
            bytes <= source.window.bytes - max(1, source.window.bytes / 4)
        else { return false }
        guard source.isSlowed, let limit = source.rateLimit else { return true }
        // The bucket is full again after this many ticks without an arrival.
        let latest = arrivals.last { $0.intake == intake && $0.taken < position }.map { supervisorTick($0.taken) } ?? 0
        return supervisorTick(position) - latest > 10 * limit.burst / limit.perSecond + 2
    }
}

extension Scenario {
    /// Returns whether plugins submit through the source too.
    func isDeliveredThrough(_ source: Int) -> Bool {
        messages.contains { message in
            message.acts.contains { act in
                if case .delivers(_, source) = act { true } else { false }
            }
        }
    }
}
