import SignalboxCore

/// Finds the plugin for each arrival of a batch and checks the plugin's access rule. Consecutive arrivals often have
/// the same name and origin, so the router reuses its last result as long as both stay the same.
struct ArrivalRouter {
    enum Decision {
        case plugin(PluginEntry)
        /// The arrival can be read, but its action has no plugin.
        case withoutPlugin
        case refused(Outcome.Rejection, plugin: PluginEntry?)
    }

    let table: PluginTable
    private(set) var lastEntry: PluginEntry?
    /// The last arrival that was allowed to call `lastEntry`.
    private(set) var lastAllowed: Arrival?

    mutating func route(_ arrival: Arrival) -> Decision {
        guard arrival.isReadable else { return refusal(of: arrival) }
        guard let entry = entry(for: arrival) else { return .withoutPlugin }
        if let lastAllowed, arrival.hasOrigin(of: lastAllowed) { return .plugin(entry) }
        let origin = arrival.origin
        guard entry.outline.rule.allows(origin) else {
            return .refused(ArrivalRouter.notAllowed(entry, origin), plugin: entry)
        }
        lastAllowed = arrival
        return .plugin(entry)
    }

    private func refusal(of arrival: Arrival) -> Decision {
        guard case .failure(let rejection) = arrival.reading else {
            return .refused(ArrivalRouter.unknown, plugin: nil)
        }
        return .refused(rejection, plugin: nil)
    }

    private mutating func entry(for arrival: Arrival) -> PluginEntry? {
        let last = lastEntry
        let found = arrival.withNameBytes { name in
            if let last, last.hasName(name) { return Optional(last) }
            return table.entry(named: name)
        }
        if found !== last {
            lastEntry = found
            lastAllowed = nil
        }
        return found
    }

    static let unknown = Outcome.Rejection(.unknownAction, detail: "no plugin is registered for this action")

    static func notAllowed(_ entry: PluginEntry, _ origin: Origin) -> Outcome.Rejection {
        let rule = entry.outline.rule
        return Outcome.Rejection(
            .sourceNotAllowed,
            detail: "plugin \(entry.action) allows \(rule), which does not cover this origin of \(origin.source)"
        )
    }
}

/// The arrivals of a batch grouped by plugin. The plugins are in the order in which they first appear in the batch.
struct BatchParts {
    struct Part {
        let entry: PluginEntry
        var ranges: [Range<Int>]

        /// Returns the part as a slice of the batch. Arrivals are copied only if the part is not contiguous.
        func slice(of batch: BatchSlice) -> BatchSlice {
            if ranges.count == 1 { return batch.part(ranges[0], for: entry) }
            var arrivals: [Arrival] = []
            arrivals.reserveCapacity(ranges.reduce(0) { $0 + $1.count })
            for range in ranges { arrivals += batch.arrivals[range] }
            return BatchSlice(
                arrivals: arrivals,
                range: arrivals.indices,
                sink: batch.sink,
                tick: batch.tick,
                settler: batch.settler,
                plugin: entry
            )
        }
    }

    private(set) var all: [Part] = []
    /// The position of each plugin in `all`. Most batches are for one plugin, so the dictionary stays empty until a
    /// second plugin appears.
    private var positions: [ObjectIdentifier: Int] = [:]
    private var last = 0

    mutating func add(_ range: Range<Int>, for entry: PluginEntry) {
        if !all.isEmpty, all[last].entry === entry {
            extend(last, by: range)
        } else if let known = positions[ObjectIdentifier(entry)] {
            last = known
            extend(known, by: range)
        } else {
            if all.count == 1 { positions[ObjectIdentifier(all[0].entry)] = 0 }
            last = all.count
            if last > 0 { positions[ObjectIdentifier(entry)] = last }
            all.append(Part(entry: entry, ranges: [range]))
        }
    }

    private mutating func extend(_ part: Int, by range: Range<Int>) {
        let end = all[part].ranges.count - 1
        if all[part].ranges[end].upperBound == range.lowerBound {
            all[part].ranges[end] = all[part].ranges[end].lowerBound..<range.upperBound
        } else {
            all[part].ranges.append(range)
        }
    }
}
