import SignalboxCore

/// Finds the plugin for each arrival of a batch and asks its access rule, remembering the answer for as long as name and
/// origin stay the same.
struct ArrivalRouter {
    enum Answer {
        case plugin(PluginEntry)
        case refused(Outcome.Rejection, plugin: PluginEntry?)
    }

    let table: PluginTable
    private var lastEntry: PluginEntry?
    private var lastOrigin: Origin?

    init(table: PluginTable) {
        self.table = table
    }

    mutating func route(_ arrival: Arrival) -> Answer {
        guard case .success(let action) = arrival.reading else { return refusal(of: arrival) }
        guard let entry = entry(for: action) else { return .refused(ArrivalRouter.unknown, plugin: nil) }
        let origin = action.origin
        if origin !== lastOrigin {
            guard entry.rule.allows(origin) else {
                return .refused(ArrivalRouter.notAllowed(entry, origin), plugin: entry)
            }
            lastOrigin = origin
        }
        return .plugin(entry)
    }

    private func refusal(of arrival: Arrival) -> Answer {
        guard case .failure(let rejection) = arrival.reading else {
            return .refused(ArrivalRouter.unknown, plugin: nil)
        }
        return .refused(rejection, plugin: nil)
    }

    private mutating func entry(for action: Action) -> PluginEntry? {
        action.withNameBytes { name in
            if let lastEntry, lastEntry.hasName(name) { return lastEntry }
            lastEntry = table.entry(named: name)
            lastOrigin = nil
            return lastEntry
        }
    }

    private static let unknown = Outcome.Rejection(.unknownAction, detail: "no plugin is registered for this action")

    private static func notAllowed(_ entry: PluginEntry, _ origin: Origin) -> Outcome.Rejection {
        Outcome.Rejection(
            .sourceNotAllowed,
            detail: "plugin \(entry.action) allows \(entry.rule), which does not cover this origin of \(origin.source)"
        )
    }
}
