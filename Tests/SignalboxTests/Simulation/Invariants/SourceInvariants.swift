import Signalbox
import SignalboxCore

extension Invariant {
    static let removalIsKept = Invariant(
        "removalIsKept",
        """
        Removing a source ends within the drain limit, and when it does everything of it is settled but calls that go on, \
        and repeats of them.
        """
    ) { ledger in
        ledger.removals.flatMap { removal -> [Ledger.Fault] in
            guard removal.isRemoved, let intake = removal.intake, let until = removal.until else { return [] }
            var faults: [Ledger.Fault] = []
            let limit = ledger.scenario.drainLimit
            let isRunning = ledger.began.map { $0 < removal.from } ?? false
            let ticks = ledger.ticks[until] - ledger.ticks[removal.from]
            if isRunning, ticks > limit + 2 {
                faults.append(
                    Ledger.Fault(at: until, text: "the removal of \(intake) took \(ticks) ticks, of \(limit)")
                )
            }
            for passage in ledger.passages where passage.intake == intake && !passage.isSettled(before: until) {
                if ledger.isInCall(passage, until) { continue }
                // A duplicate of an arrival in a call waits for that call.
                if ledger.passages.contains(where: { $0.isTwin(of: passage) && ledger.isInCall($0, until) }) {
                    continue
                }
                faults.append(Ledger.Fault(at: until, text: "\(intake) is removed, and \(passage.mark) waits"))
            }
            return faults
        }
    }

    static let namesAreFree = Invariant(
        "namesAreFree",
        "A source can be added where none of its name is there, until the supervisor drains."
    ) { ledger in
        // A source that ends by itself may be the last, and then the supervisor drains.
        guard !ledger.scenario.sources.contains(where: { $0.kind == .endingAdapter }) else { return [] }
        return ledger.events.enumerated().compactMap { position, event in
            guard case .notAdded(let source) = event, position < min(ledger.stopped ?? .max, ledger.ended?.at ?? .max)
            else { return nil }
            let lives = ledger.intakes.filter { $0.key.source == source && $0.value < position }.keys
            let left = ledger.removals.filter { $0.isRemoved && $0.until.map { $0 < position } ?? false }
            guard lives.allSatisfy({ life in left.contains { $0.intake == life } }) else { return nil }
            return Ledger.Fault(at: position, text: "s\(source) was not added, and there is none of its name")
        }
    }
}

extension Ledger {
    fileprivate func isInCall(_ passage: Passage, _ position: Int) -> Bool {
        isInBatchCall(passage, position)
            || attempts(of: passage).contains { attempt in
                // In the tick of the removal's end an attempt may begin, or fail so that a retry would follow.
                let isNow = [attempt.began, attempt.ended].contains { $0.map { ticks[$0] } == ticks[position] }
                return attempt.isRunning(at: position) || isNow
            }
    }
}

extension Passage {
    fileprivate func isTwin(of other: Passage) -> Bool {
        mark != other.mark && message == other.message && intake == other.intake
    }
}

extension Invariant {
    static let windowIsNeverExceeded = Invariant(
        "windowIsNeverExceeded",
        """
        No more of a source is inside than its window holds; one arrival may reach over the bytes while \
        a quarter is free.
        """
    ) { ledger in
        ledger.takings.compactMap { taking in
            guard taking.count > 0 else { return nil }
            let limits = ledger.scenario.sources[taking.intake.source].window
            let own = ledger.passages.filter { $0.intake == taking.intake }
            let earlier = own.filter { $0.taken < taking.at && !$0.isSettled(before: taking.from) }
            var count = earlier.count
            var bytes = earlier.reduce(0) { $0 + ledger.length(of: $1) }
            for passage in own where passage.taken == taking.at {
                let isRoomy = bytes <= limits.bytes - max(1, limits.bytes / 4)
                bytes += ledger.length(of: passage)
                count += 1
                if count > limits.arrivals || (bytes > limits.bytes && !isRoomy) {
                    let text = "\(taking.intake): \(count) arrivals and \(bytes) bytes inside, of \(limits)"
                    return Ledger.Fault(at: taking.at, text: text)
                }
            }
            return nil
        }
    }

    static let roomIsRoom = Invariant(
        "roomIsRoom",
        """
        After `room()` has returned, `submit` takes something: else an adapter would ask in vain for \
        ever.
        """
    ) { ledger in
        ledger.intakes.keys.flatMap { intake -> [Ledger.Fault] in
            guard !ledger.scenario.isDeliveredThrough(intake.source) else { return [] }
            var hasRoom = false
            var inVain: Int?
            var faults: [Ledger.Fault] = []
            for (position, event) in ledger.events.enumerated() {
                switch event {
                case .hasRoom(intake):
                    if let inVain {
                        let text = "\(intake) was told that there is room, and submit took nothing"
                        faults.append(Ledger.Fault(at: inVain, text: text))
                    }
                    inVain = nil
                    hasRoom = true
                case .isClosed(intake): inVain = nil
                case .took(let number, let count) where ledger.offers[number]?.intake == intake:
                    if hasRoom, count == 0 { inVain = position }
                    hasRoom = false
                default: break
                }
            }
            return faults
        }
    }

    static let roomIsTold = Invariant(
        "roomIsTold",
        "Who waits for room is told as soon as a quarter of the window is free, and of what a rate limit allows."
    ) { ledger in
        var asking: Set<IntakeMark> = []
        var faults: [Ledger.Fault] = []
        for (position, event) in ledger.events.enumerated() {
            switch event {
            case .asksForRoom(let intake): asking.insert(intake)
            case .hasRoom(let intake), .isClosed(let intake): asking.remove(intake)
            case .tick:
                for intake in asking where ledger.hasRoom(intake, at: position) {
                    faults.append(
                        Ledger.Fault(at: position, text: "\(intake) has room, and who waits for it is not told")
                    )
                    asking.remove(intake)
                }
            default: break
            }
        }
        return faults
    }

    static let closedTakesNothing = Invariant(
        "closedTakesNothing",
        """
        A source that was told that it is closed, and any source when `run()` has returned, has nothing \
        taken any more.
        """
    ) { ledger in
        var closed: [IntakeMark: Int] = [:]
        for (position, event) in ledger.events.enumerated() {
            if case .isClosed(let intake) = event { closed[intake] = min(closed[intake] ?? position, position) }
        }
        for removal in ledger.removals {
            if let intake = removal.intake { closed[intake] = min(closed[intake] ?? removal.from, removal.from) }
        }
        return ledger.takings.compactMap { taking in
            let end = min(closed[taking.intake] ?? .max, ledger.ended?.at ?? .max)
            guard taking.count > 0, taking.from > end else { return nil }
            return Ledger.Fault(
                at: taking.at,
                text: "\(taking.intake) is closed, and \(taking.count) arrivals were taken"
            )
        }
    }
}

extension Ledger {
    fileprivate func hasRoom(_ intake: IntakeMark, at position: Int) -> Bool {
        // Several callers may wait for room, and each is notified separately.
        guard !scenario.isDeliveredThrough(intake.source) else { return false }
        let source = scenario.sources[intake.source]
        let inside = passages.filter { $0.intake == intake && $0.taken < position && !$0.isSettled(before: position) }
        let bytes = inside.reduce(0) { $0 + length(of: $1) }
        guard inside.count <= source.window.arrivals - max(1, source.window.arrivals / 4),
            bytes <= source.window.bytes - max(1, source.window.bytes / 4)
        else { return false }
        guard source.isSlowed, let limit = source.rateLimit else { return true }
        // The bucket is full again after this many ticks without an arrival.
        let latest = passages.last { $0.intake == intake && $0.taken < position }.map { supervisorTick($0.taken) } ?? 0
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
