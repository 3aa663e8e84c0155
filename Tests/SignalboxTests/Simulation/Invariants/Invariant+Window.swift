import Signalbox

extension Invariant {
    /// No more of a source is inside than its window holds; one arrival may reach over the bytes while a quarter is free.
    static let windowIsNeverExceeded = Invariant(name: "windowIsNeverExceeded") { ledger in
        ledger.takings.compactMap { taking in
            guard taking.count > 0 else { return nil }
            let limits = ledger.scenario.sources[taking.source].window
            let own = ledger.passages.filter { $0.mark.source == taking.source }
            let earlier = own.filter { $0.taken < taking.at && !$0.isSettled(before: taking.from) }
            var count = earlier.count
            var bytes = earlier.reduce(0) { $0 + ledger.length(of: $1) }
            for passage in own where passage.taken == taking.at {
                let isRoomy = bytes <= limits.bytes - max(1, limits.bytes / 4)
                bytes += ledger.length(of: passage)
                count += 1
                if count > limits.arrivals || (bytes > limits.bytes && !isRoomy) {
                    let text = "s\(taking.source): \(count) arrivals and \(bytes) bytes inside, of \(limits)"
                    return Ledger.Fault(at: taking.at, text: text)
                }
            }
            return nil
        }
    }

    /// After `room()` has returned, `submit` takes something: else an adapter would ask in vain for ever.
    static let roomIsRoom = Invariant(name: "roomIsRoom") { ledger in
        ledger.scenario.sources.flatMap { source -> [Ledger.Fault] in
            guard !ledger.scenario.isDeliveredThrough(source.index) else { return [] }
            var hasRoom = false
            var inVain: Int?
            var faults: [Ledger.Fault] = []
            for (position, event) in ledger.events.enumerated() {
                switch event {
                case .hasRoom(source.index):
                    if let inVain {
                        let text = "s\(source.index) was told that there is room, and submit took nothing"
                        faults.append(Ledger.Fault(at: inVain, text: text))
                    }
                    inVain = nil
                    hasRoom = true
                case .isClosed(source.index): inVain = nil
                case .took(let number, let count) where ledger.offers[number]?.source == source.index:
                    if hasRoom, count == 0 { inVain = position }
                    hasRoom = false
                default: break
                }
            }
            return faults
        }
    }

    /// A source that was told that it is closed, and any source when `run()` has returned, has nothing taken any more.
    static let closedTakesNothing = Invariant(name: "closedTakesNothing") { ledger in
        var closed: [Int: Int] = [:]
        for (position, event) in ledger.events.enumerated() {
            if case .isClosed(let source) = event { closed[source] = min(closed[source] ?? position, position) }
        }
        return ledger.takings.compactMap { taking in
            let end = min(closed[taking.source] ?? .max, ledger.ended?.at ?? .max)
            guard taking.count > 0, taking.from > end else { return nil }
            return Ledger.Fault(
                at: taking.at,
                text: "s\(taking.source) is closed, and \(taking.count) arrivals were taken"
            )
        }
    }
}

extension Ledger {
    fileprivate func length(of passage: Passage) -> Int { message(of: passage).text.utf8.count }
}

extension Scenario {
    /// Whether plugins submit through the source too.
    func isDeliveredThrough(_ source: Int) -> Bool {
        messages.contains { message in
            message.acts.contains { act in
                if case .delivers(_, source) = act { true } else { false }
            }
        }
    }
}
