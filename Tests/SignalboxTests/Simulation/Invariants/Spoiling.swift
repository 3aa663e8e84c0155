import Signalbox
import SignalboxCore
import Testing

/// A change of the log that violates one invariant.
struct Spoiling: Sendable, CustomTestStringConvertible {
    let invariant: String
    let spoil: @Sendable (inout SpoiledRun) -> Void

    init(_ invariant: String, _ spoil: @escaping @Sendable (inout SpoiledRun) -> Void) {
        self.invariant = invariant
        self.spoil = spoil
    }

    var testDescription: String { invariant }

    static let all = settlements + reports + calls + orders + windows + admissions + times
}

extension Spoiling {
    private static let settlements = [
        Spoiling("settledOnce") { run in
            let position = run.settling(SpoiledRun.first)
            run.insert([run.events[position]], at: position)
        },
        Spoiling("nothingUntakenIsTold") { run in
            run.insert(
                [.settled(ArrivalMark(source: 0, token: 9), .abandoned(.drain))],
                at: run.settling(SpoiledRun.first)
            )
        },
        Spoiling("allIsSettledWhenTheRunEnds") { run in run.events.remove(at: run.settling(SpoiledRun.third)) },
        Spoiling("acknowledgedAsDecided") { run in
            run.events.removeAll { $0 == .acknowledged(SpoiledRun.second) }
        },
        Spoiling("acknowledgedAsDecided") { run in run.tell(.abandoned(.stop), of: SpoiledRun.second) },
        Spoiling("acknowledgedAsDecided") { run in
            run.events.removeAll { $0 == .acknowledged(SpoiledRun.second) }
            run.insert([.acknowledged(SpoiledRun.second)], at: run.settling(SpoiledRun.second) + 1)
        },
        Spoiling("observedBeforeSettled") { run in run.events.remove(at: run.observing(SpoiledRun.first)) },
        Spoiling("outcomeHasItsCause") { run in run.tell(.handled(reply: Bytes("99")), of: SpoiledRun.first) },
        Spoiling("outcomeHasItsCause") { run in run.tell(.abandoned(.holdLimit), of: SpoiledRun.first) },
        Spoiling("outcomeHasItsCause") { run in
            run.tell(.rejected(Outcome.Rejection(.unavailable, detail: "")), of: SpoiledRun.first)
        },
    ]

    private static let reports = [
        Spoiling("countsMatch") { run in
            run.tell(.failed(Outcome.Failure(.threw, detail: "")), of: SpoiledRun.first)
        },
        Spoiling("reportTellsTheTruth") { run in run.events.remove(at: run.settling(SpoiledRun.third)) },
        Spoiling("deadLettersAreBounded") { run in
            let position = run.position { if case .quiet = $0 { true } else { false } }
            guard case .quiet(let report, _) = run.events[position] else { return }
            run.events[position] = .quiet(report, letters: [1])
        },
        Spoiling("supervisorIsFreed") { run in
            run.events[run.events.count - 1] = .released(supervisor: false, held: [])
        },
        Spoiling("supervisorIsFreed") { run in
            run.events[run.events.count - 1] = .released(supervisor: true, held: [0])
        },
        Spoiling("attemptsAreTold") { run in
            let position = run.observing(SpoiledRun.first)
            guard case .observed(let mark, let outcome, _, let isRepeat) = run.events[position] else { return }
            run.events[position] = .observed(mark, outcome, attempts: 5, isRepeat: isRepeat)
        },
    ]

    private static let calls = [
        Spoiling("onlyAllowedArrivalsAreCalled") { run in run.registrations[0].sources = [1] },
        Spoiling("onlyAllowedArrivalsAreCalled") { run in run.scenario.messages[1].deadline = .past },
        Spoiling("notCalledAfterItsEnd") { run in
            let call: [SimulationEvent] = [
                .callBegan(call: 9, registration: 0, [SpoiledRun.first], attempt: 1), .callEnded(call: 9, .returned),
            ]
            run.insert(call, at: run.settling(SpoiledRun.first) + 1)
        },
        Spoiling("attemptsAreKept") { run in
            run.registrations[0].retry = .init(attempts: 2, firstDelay: 1, longestDelay: 1)
            let call: [SimulationEvent] = [
                .callBegan(call: 9, registration: 0, [SpoiledRun.first], attempt: 2), .callEnded(call: 9, .returned),
            ]
            run.insert(call, at: run.observing(SpoiledRun.first))
        },
        Spoiling("attemptsAreKept") { run in
            let position = run.call(SpoiledRun.first)
            run.events[position] = .callBegan(call: 0, registration: 0, [SpoiledRun.first], attempt: 2)
        },
        Spoiling("reentrantIsRefused") { run in
            run.insert([.delivers(call: 0, SpoiledRun.second)], at: run.call(SpoiledRun.first) + 1)
        },
    ]
}

extension Spoiling {
    static let orders = [
        Spoiling("neverMoreCallsThanAllowed") { run in run.overlapCalls() },
        Spoiling("oneCallPerSourceOrKey") { run in
            run.registrations[0].maxConcurrent = 2
            run.overlapCalls()
        },
        Spoiling("orderIsKept") { run in
            let (first, second) = (run.call(SpoiledRun.first), run.call(SpoiledRun.second))
            run.events[first] = .callBegan(call: 0, registration: 0, [SpoiledRun.second], attempt: 1)
            run.events[second] = .callBegan(call: 1, registration: 0, [SpoiledRun.first], attempt: 1)
        },
        Spoiling("nothingWaitsWithoutReason") { run in run.insertTicks(1, at: run.call(SpoiledRun.first)) },
        Spoiling("stalledLaneIsUnavailable") { run in
            // The first call continues after it is settled, and the second arrival waits behind it.
            run.events.removeAll { $0 == .callEnded(call: 0, .returned) }
            run.insertTicks(1, at: run.call(SpoiledRun.second))
        },
        Spoiling("successorsWait") { run in
            run.registrations.append(run.registrations[0])
            run.insert([.registered(registration: 1, action: 0)], at: run.taking(SpoiledRun.first) + 1)
            let second = run.call(SpoiledRun.second)
            run.events[second] = .callBegan(call: 1, registration: 1, [SpoiledRun.second], attempt: 1)
            let settled = run.events.remove(at: run.settling(SpoiledRun.first))
            run.insert([settled], at: run.call(SpoiledRun.second) + 1)
        },
        Spoiling("successorsBegin") { run in
            run.registrations.append(run.registrations[0])
            run.insert([.registered(registration: 1, action: 0)], at: run.settling(SpoiledRun.second) + 1)
            let calls = [SpoiledRun.third, SpoiledRun.other].map { (run.call($0), $0) }
            for (position, mark) in calls {
                guard case .callBegan(let number, _, _, _) = run.events[position] else { continue }
                run.events[position] = .callBegan(call: number, registration: 1, [mark], attempt: 1)
            }
            run.insertTicks(3, at: min(calls[0].0, calls[1].0))
        },
        Spoiling("sourcesTakeTurns") { run in
            // The other source's arrival is submitted before the first call.
            let offer = run.position { event in
                if case .offers(_, IntakeMark(source: 1), _) = event { true } else { false }
            }
            let moved = Array(run.events[offer...offer + 1])
            run.events.removeSubrange(offer...offer + 1)
            run.insert(moved, at: run.call(SpoiledRun.first))
        },
    ]

    static let windows = [
        Spoiling("windowIsNeverExceeded") { run in run.scenario.sources[0].window.arrivals = 1 },
        Spoiling("windowIsNeverExceeded") { run in run.scenario.sources[0].window.bytes = 10 },
        Spoiling("roomIsRoom") { run in
            let offered = [SimulationEvent.Offered(mark: ArrivalMark(source: 0, token: 9), message: 1)]
            let vain: [SimulationEvent] = [
                .hasRoom(SpoiledRun.source), .offers(number: 9, SpoiledRun.source, offered), .took(number: 9, count: 0),
                .hasRoom(SpoiledRun.source),
            ]
            run.insert(vain, at: run.taking(SpoiledRun.first) + 1)
        },
        Spoiling("roomIsTold") { run in
            run.insert(
                [.asksForRoom(SpoiledRun.source)],
                at: run.position { if case .tick = $0 { true } else { false } }
            )
        },
        Spoiling("closedTakesNothing") { run in
            run.insert([.isClosed(SpoiledRun.source)], at: run.settling(SpoiledRun.first))
        },
        Spoiling("closedTakesNothing") { run in
            run.insert([.leaves(removal: 1, source: 0)], at: run.settling(SpoiledRun.first))
        },
        Spoiling("removalIsKept") { run in
            let removal: [SimulationEvent] = [.leaves(removal: 1, source: 0), .left(removal: 1, isRemoved: true)]
            run.insert(removal, at: run.taking(SpoiledRun.third) + 1)
            run.insertTicks(1, at: run.call(SpoiledRun.third))
        },
        Spoiling("removalIsKept") { run in
            run.insert([.leaves(removal: 1, source: 0)], at: run.settling(SpoiledRun.third) + 1)
            let position = run.settling(SpoiledRun.third) + 2
            run.insert([.left(removal: 1, isRemoved: true)], at: position)
            run.insertTicks(run.scenario.drainLimit + 3, at: position)
        },
        Spoiling("namesAreFree") { run in
            run.insert([.notAdded(source: 1)], at: run.position { $0 == .added(IntakeMark(source: 1)) })
        },
    ]
}

extension SpoiledRun {
    /// Ends the first call only after the second has started.
    fileprivate mutating func overlapCalls() {
        let end = position { $0 == .callEnded(call: 0, .returned) }
        let moved = events.remove(at: end)
        insert([moved], at: call(SpoiledRun.second) + 1)
    }
}

extension Spoiling {
    static let admissions = [
        Spoiling("repeatsAreNotCalled") { run in
            run.scenario.sources[0].repeats = .within(count: 10, time: 100, bytes: 10_000)
            for message in 1...2 { run.scenario.messages[message].id = "same" }
        },
        Spoiling("repeatsHaveTheirOriginal") { run in
            run.scenario.sources[0].repeats = .within(count: 10, time: 100, bytes: 10_000)
            run.tell(.handled(reply: Bytes("7")), of: SpoiledRun.second, isRepeat: true)
        },
        Spoiling("outcomeHasItsCause") { run in
            run.tell(.rejected(Outcome.Rejection(.idConflict, detail: "")), of: SpoiledRun.second)
        },
        Spoiling("rateLimitIsKept") { run in
            run.scenario.sources[0].rateLimit = RateLimit(perSecond: 1, burst: 1)
        },
        Spoiling("overloadedIsTrue") { run in
            run.scenario.sources[0].rateLimit = RateLimit(perSecond: 10, burst: 5)
            run.tell(.rejected(Outcome.Rejection(.overloaded, detail: "")), of: SpoiledRun.second)
        },
        Spoiling("breakerIsKept") { run in
            run.registrations[0].breaker = .init(failures: 2, openFor: 20)
            for mark in [SpoiledRun.first, SpoiledRun.second] {
                run.tell(.failed(Outcome.Failure(.threw, detail: "")), of: mark)
            }
        },
        Spoiling("breakerIsKept") { run in
            // A half-open breaker admits one arrival at a time. Here it admits two before either is settled.
            run.registrations[0].breaker = .init(failures: 2, openFor: 1)
            for mark in [SpoiledRun.first, SpoiledRun.second] {
                run.tell(.failed(Outcome.Failure(.threw, detail: "")), of: mark)
            }
            let offer = run.position { event in
                if case .offers(_, IntakeMark(source: 1), _) = event { true } else { false }
            }
            let moved = Array(run.events[offer...offer + 1])
            run.events.removeSubrange(offer...offer + 1)
            run.insert(moved, at: run.taking(SpoiledRun.third) + 1)
        },
        Spoiling("breakerIsKept") { run in
            run.registrations[0].breaker = .init(failures: 2, openFor: 1)
            run.tell(
                .rejected(Outcome.Rejection(.unavailable, detail: "the circuit breaker is open")),
                of: SpoiledRun.third
            )
        },
    ]

    static let times = [
        Spoiling("timeoutIsKept") { run in
            run.registrations[0].timeout = 2
            run.insertTicks(5, at: run.call(SpoiledRun.first) + 1)
        },
        Spoiling("timeoutIsKept") { run in
            run.registrations[0].timeout = 2
            let end = run.position { $0 == .callEnded(call: 0, .returned) }
            run.events.remove(at: end)
            run.insert([.callEnded(call: 0, .returned)], at: run.settling(SpoiledRun.first) + 1)
            run.tell(.failed(Outcome.Failure(.timeout, detail: "")), of: SpoiledRun.first)
        },
        Spoiling("holdLimitIsKept") { run in
            run.scenario.sources[0].features = .redelivers
            run.insertTicks(run.scenario.holdLimit + 2, at: run.call(SpoiledRun.first))
        },
        Spoiling("holdLimitIsKept") { run in
            run.scenario.sources[0].features = .redelivers
            run.tell(.abandoned(.holdLimit), of: SpoiledRun.first)
            let call = run.call(SpoiledRun.first)
            run.events.removeSubrange(call...call + 1)
        },
        Spoiling("drainLimitIsKept") { run in
            let end = run.position { if case .runEnded = $0 { true } else { false } }
            run.insertTicks(run.scenario.drainLimit + 3, at: end)
        },
    ]
}
