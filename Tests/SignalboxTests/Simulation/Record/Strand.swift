/// What must wait for each other: the arrivals of one source, or those with one key, or nothing.
enum Strand: Sendable, Hashable {
    case source(IntakeMark)
    case key(Int)
    case keyOfSource(Int, IntakeMark)
    case none(ArrivalMark)
}

extension Ledger {
    func strand(of passage: Passage, in plugin: PluginScenario) -> Strand {
        switch plugin.order {
        case .source: .source(passage.intake)
        case .key: .key(message(of: passage).key)
        case .none: .none(passage.mark)
        }
    }

    /// The arrivals whose calls were a registration's, in the order in which they were submitted.
    func called(_ registration: Int) -> [Passage] {
        passages.filter { passage in passage.calls.contains { calls[$0].registration == registration } }
    }

    /// The one registration that its action ever had; `nil` when it had none or several.
    func onlyRegistration(of action: Int) -> Registration? {
        let known = registrations.filter { $0.plugin.action == action && $0.from != nil }
        return known.count == 1 ? known[0] : nil
    }
}
