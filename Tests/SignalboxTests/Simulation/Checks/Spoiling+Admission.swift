import Signalbox
import SignalboxCore

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
            // Half open it lets one at a time pass, and both are asked for before either is settled.
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
