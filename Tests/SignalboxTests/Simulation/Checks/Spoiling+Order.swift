import Signalbox
import SignalboxCore

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
            // The first call goes on when it is settled, and the second arrival waits behind it.
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
            // The other source's arrival was there before the first call of all.
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
    /// The first call ends only when the second has begun.
    fileprivate mutating func overlapCalls() {
        let end = position { $0 == .callEnded(call: 0, .returned) }
        let moved = events.remove(at: end)
        insert([moved], at: call(SpoiledRun.second) + 1)
    }
}
