import SignalboxCore
import Testing

/// One way to break an invariant.
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
