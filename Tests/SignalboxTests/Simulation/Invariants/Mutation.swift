import Signalbox
import SignalboxCore
import Testing

/// A change of the event log that violates one invariant.
struct Mutation: Sendable, CustomTestStringConvertible {
    let invariant: String
    let mutate: @Sendable (inout MutatedRun) -> Void

    init(_ invariant: String, _ mutate: @escaping @Sendable (inout MutatedRun) -> Void) {
        self.invariant = invariant
        self.mutate = mutate
    }

    var testDescription: String { invariant }

    static let all = settlements + reports + calls + orders + windows + admissions + times
}

extension Mutation {
    private static let settlements = [
        Mutation("outcomesAreReportedOnce") { run in
            let position = run.settling(MutatedRun.first)
            run.insert([run.events[position]], at: position)
        },
        Mutation("onlyTakenArrivalsAreReported") { run in
            run.insert(
                [.settled(ArrivalMark(source: 0, token: 9), .abandoned(.drain))],
                at: run.settling(MutatedRun.first)
            )
        },
        Mutation("everyArrivalIsSettledWhenTheRunEnds") { run in run.events.remove(at: run.settling(MutatedRun.third))
        },
        Mutation("onlyDecidedArrivalsAreAcknowledged") { run in
            run.events.removeAll { $0 == .acknowledged(MutatedRun.second) }
        },
        Mutation("onlyDecidedArrivalsAreAcknowledged") { run in run.setOutcome(.abandoned(.stop), of: MutatedRun.second)
        },
        Mutation("onlyDecidedArrivalsAreAcknowledged") { run in
            run.events.removeAll { $0 == .acknowledged(MutatedRun.second) }
            run.insert([.acknowledged(MutatedRun.second)], at: run.settling(MutatedRun.second) + 1)
        },
        Mutation("observedBeforeSettled") { run in run.events.remove(at: run.observing(MutatedRun.first)) },
        Mutation("outcomeHasItsCause") { run in run.setOutcome(.handled(reply: Bytes("99")), of: MutatedRun.first) },
        Mutation("outcomeHasItsCause") { run in run.setOutcome(.abandoned(.ackDeadline), of: MutatedRun.first) },
        Mutation("outcomeHasItsCause") { run in
            run.setOutcome(.rejected(Outcome.Rejection(.unavailable, detail: "")), of: MutatedRun.first)
        },
    ]

    private static let reports = [
        Mutation("countsMatch") { run in
            run.setOutcome(.failed(Outcome.Failure(.threw, detail: "")), of: MutatedRun.first)
        },
        Mutation("reportIsAccurate") { run in run.events.remove(at: run.settling(MutatedRun.third)) },
        Mutation("deadLettersAreBounded") { run in
            let position = run.position { if case .quiet = $0 { true } else { false } }
            guard case .quiet(let report, _) = run.events[position] else { return }
            run.events[position] = .quiet(report, letters: [1])
        },
        Mutation("supervisorIsFreed") { run in
            run.events[run.events.count - 1] = .released(supervisor: false, held: [])
        },
        Mutation("supervisorIsFreed") { run in
            run.events[run.events.count - 1] = .released(supervisor: true, held: [0])
        },
        Mutation("attemptsAreReported") { run in
            let position = run.observing(MutatedRun.first)
            guard case .observed(let mark, let outcome, _, let isDuplicate) = run.events[position] else { return }
            run.events[position] = .observed(mark, outcome, attempts: 5, isDuplicate: isDuplicate)
        },
    ]

    private static let calls = [
        Mutation("onlyAllowedArrivalsAreCalled") { run in run.registrations[0].sources = [1] },
        Mutation("onlyAllowedArrivalsAreCalled") { run in run.scenario.messages[1].deadline = .past },
        Mutation("settledArrivalsAreNotCalled") { run in
            let call: [SimulationEvent] = [
                .callBegan(call: 9, registration: 0, [MutatedRun.first], attempt: 1), .callEnded(call: 9, .returned),
            ]
            run.insert(call, at: run.settling(MutatedRun.first) + 1)
        },
        Mutation("attemptsFollowTheRetryPolicy") { run in
            run.registrations[0].retry = .init(attempts: 2, firstDelay: 1, longestDelay: 1)
            let call: [SimulationEvent] = [
                .callBegan(call: 9, registration: 0, [MutatedRun.first], attempt: 2), .callEnded(call: 9, .returned),
            ]
            run.insert(call, at: run.observing(MutatedRun.first))
        },
        Mutation("attemptsFollowTheRetryPolicy") { run in
            let position = run.call(MutatedRun.first)
            run.events[position] = .callBegan(call: 0, registration: 0, [MutatedRun.first], attempt: 2)
        },
        Mutation("reentrantIsRefused") { run in
            run.insert([.delivers(call: 0, MutatedRun.second)], at: run.call(MutatedRun.first) + 1)
        },
    ]
}

extension Mutation {
    static let orders = [
        Mutation("concurrencyLimitIsNotExceeded") { run in run.overlapCalls() },
        Mutation("oneCallPerSourceOrKey") { run in
            run.registrations[0].maxConcurrent = 2
            run.overlapCalls()
        },
        Mutation("orderIsPreserved") { run in
            let (first, second) = (run.call(MutatedRun.first), run.call(MutatedRun.second))
            run.events[first] = .callBegan(call: 0, registration: 0, [MutatedRun.second], attempt: 1)
            run.events[second] = .callBegan(call: 1, registration: 0, [MutatedRun.first], attempt: 1)
        },
        Mutation("noArrivalWaitsWithoutCause") { run in run.insertTicks(1, at: run.call(MutatedRun.first)) },
        Mutation("stalledLaneIsUnavailable") { run in
            // The first call continues after it is settled, and the second arrival waits behind it.
            run.events.removeAll { $0 == .callEnded(call: 0, .returned) }
            run.insertTicks(1, at: run.call(MutatedRun.second))
        },
        Mutation("replacementsWait") { run in
            run.registrations.append(run.registrations[0])
            run.insert([.registered(registration: 1, action: 0)], at: run.taking(MutatedRun.first) + 1)
            let second = run.call(MutatedRun.second)
            run.events[second] = .callBegan(call: 1, registration: 1, [MutatedRun.second], attempt: 1)
            let settled = run.events.remove(at: run.settling(MutatedRun.first))
            run.insert([settled], at: run.call(MutatedRun.second) + 1)
        },
        Mutation("replacementsStart") { run in
            run.registrations.append(run.registrations[0])
            run.insert([.registered(registration: 1, action: 0)], at: run.settling(MutatedRun.second) + 1)
            let calls = [MutatedRun.third, MutatedRun.other].map { (run.call($0), $0) }
            for (position, mark) in calls {
                guard case .callBegan(let number, _, _, _) = run.events[position] else { continue }
                run.events[position] = .callBegan(call: number, registration: 1, [mark], attempt: 1)
            }
            run.insertTicks(3, at: min(calls[0].0, calls[1].0))
        },
        Mutation("sourcesTakeTurns") { run in
            // The other source's arrival is submitted before the first call.
            let offer = run.position { event in
                if case .offers(_, IntakeMark(source: 1), _) = event { true } else { false }
            }
            let moved = Array(run.events[offer...offer + 1])
            run.events.removeSubrange(offer...offer + 1)
            run.insert(moved, at: run.call(MutatedRun.first))
        },
    ]

    static let windows = [
        Mutation("windowIsNotExceeded") { run in run.scenario.sources[0].window.arrivals = 1 },
        Mutation("windowIsNotExceeded") { run in run.scenario.sources[0].window.bytes = 10 },
        Mutation("signalledRoomIsAvailable") { run in
            let offered = [SimulationEvent.Offered(mark: ArrivalMark(source: 0, token: 9), message: 1)]
            let vain: [SimulationEvent] = [
                .hasRoom(MutatedRun.source), .offers(number: 9, MutatedRun.source, offered), .took(number: 9, count: 0),
                .hasRoom(MutatedRun.source),
            ]
            run.insert(vain, at: run.taking(MutatedRun.first) + 1)
        },
        Mutation("roomIsSignalled") { run in
            run.insert(
                [.waitsForRoom(MutatedRun.source)],
                at: run.position { if case .tick = $0 { true } else { false } }
            )
        },
        Mutation("closedIntakesTakeNothing") { run in
            run.insert([.isClosed(MutatedRun.source)], at: run.settling(MutatedRun.first))
        },
        Mutation("closedIntakesTakeNothing") { run in
            run.insert([.leaves(removal: 1, source: 0)], at: run.settling(MutatedRun.first))
        },
        Mutation("removalEndsInTime") { run in
            let removal: [SimulationEvent] = [.leaves(removal: 1, source: 0), .left(removal: 1, isRemoved: true)]
            run.insert(removal, at: run.taking(MutatedRun.third) + 1)
            run.insertTicks(1, at: run.call(MutatedRun.third))
        },
        Mutation("removalEndsInTime") { run in
            run.insert([.leaves(removal: 1, source: 0)], at: run.settling(MutatedRun.third) + 1)
            let position = run.settling(MutatedRun.third) + 2
            run.insert([.left(removal: 1, isRemoved: true)], at: position)
            run.insertTicks(run.scenario.drainLimit + 3, at: position)
        },
        Mutation("freeNamesCanBeAdded") { run in
            run.insert([.notAdded(source: 1)], at: run.position { $0 == .added(IntakeMark(source: 1)) })
        },
    ]
}

extension MutatedRun {
    /// Ends the first call only after the second has started.
    fileprivate mutating func overlapCalls() {
        let end = position { $0 == .callEnded(call: 0, .returned) }
        let moved = events.remove(at: end)
        insert([moved], at: call(MutatedRun.second) + 1)
    }
}

extension Mutation {
    static let admissions = [
        Mutation("duplicatesAreNotCalled") { run in
            run.scenario.sources[0].deduplication = .within(count: 10, time: 100, bytes: 10_000)
            for message in 1...2 { run.scenario.messages[message].id = "same" }
        },
        Mutation("duplicatesHaveTheirOriginal") { run in
            run.scenario.sources[0].deduplication = .within(count: 10, time: 100, bytes: 10_000)
            run.setOutcome(.handled(reply: Bytes("7")), of: MutatedRun.second, isDuplicate: true)
        },
        Mutation("outcomeHasItsCause") { run in
            run.setOutcome(.rejected(Outcome.Rejection(.idConflict, detail: "")), of: MutatedRun.second)
        },
        Mutation("rateLimitIsNotExceeded") { run in
            run.scenario.sources[0].rateLimit = RateLimit(perSecond: 1, burst: 1)
        },
        Mutation("overloadHasItsCause") { run in
            run.scenario.sources[0].rateLimit = RateLimit(perSecond: 10, burst: 5)
            run.setOutcome(.rejected(Outcome.Rejection(.overloaded, detail: "")), of: MutatedRun.second)
        },
        Mutation("breakerMatchesItsModel") { run in
            run.registrations[0].breaker = .init(failures: 2, openFor: 20)
            for mark in [MutatedRun.first, MutatedRun.second] {
                run.setOutcome(.failed(Outcome.Failure(.threw, detail: "")), of: mark)
            }
        },
        Mutation("breakerMatchesItsModel") { run in
            // A half-open breaker admits one arrival at a time. Here it admits two before either is settled.
            run.registrations[0].breaker = .init(failures: 2, openFor: 1)
            for mark in [MutatedRun.first, MutatedRun.second] {
                run.setOutcome(.failed(Outcome.Failure(.threw, detail: "")), of: mark)
            }
            let offer = run.position { event in
                if case .offers(_, IntakeMark(source: 1), _) = event { true } else { false }
            }
            let moved = Array(run.events[offer...offer + 1])
            run.events.removeSubrange(offer...offer + 1)
            run.insert(moved, at: run.taking(MutatedRun.third) + 1)
        },
        Mutation("breakerMatchesItsModel") { run in
            run.registrations[0].breaker = .init(failures: 2, openFor: 1)
            run.setOutcome(
                .rejected(Outcome.Rejection(.unavailable, detail: "the circuit breaker is open")),
                of: MutatedRun.third
            )
        },
    ]

    static let times = [
        Mutation("timeoutIsEnforced") { run in
            run.registrations[0].timeout = 2
            run.insertTicks(5, at: run.call(MutatedRun.first) + 1)
        },
        Mutation("timeoutIsEnforced") { run in
            run.registrations[0].timeout = 2
            let end = run.position { $0 == .callEnded(call: 0, .returned) }
            run.events.remove(at: end)
            run.insert([.callEnded(call: 0, .returned)], at: run.settling(MutatedRun.first) + 1)
            run.setOutcome(.failed(Outcome.Failure(.timeout, detail: "")), of: MutatedRun.first)
        },
        Mutation("ackDeadlineIsEnforced") { run in
            run.scenario.sources[0].features = .redelivers
            run.insertTicks(run.scenario.ackDeadline + 2, at: run.call(MutatedRun.first))
        },
        Mutation("ackDeadlineIsEnforced") { run in
            run.scenario.sources[0].features = .redelivers
            run.setOutcome(.abandoned(.ackDeadline), of: MutatedRun.first)
            let call = run.call(MutatedRun.first)
            run.events.removeSubrange(call...call + 1)
        },
        Mutation("drainLimitIsEnforced") { run in
            let end = run.position { if case .runEnded = $0 { true } else { false } }
            run.insertTicks(run.scenario.drainLimit + 3, at: end)
        },
    ]
}
