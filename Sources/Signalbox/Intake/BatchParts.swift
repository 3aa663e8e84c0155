import SignalboxCore

/// What a batch holds for each plugin, in the order in which the plugins first appear.
struct BatchParts {
    struct Part {
        let entry: PluginEntry
        var ranges: [Range<Int>]

        /// The part as a run of its own. Only a part in pieces is copied together.
        func run(of batch: LaneRun) -> LaneRun {
            if ranges.count == 1 { return batch.part(ranges[0]) }
            let arrivals = ranges.flatMap { batch.arrivals[$0] }
            return LaneRun(arrivals, in: 0..<arrivals.count, sink: batch.sink, tick: batch.tick, intake: batch.intake)
        }
    }

    private(set) var all: [Part] = []
    private var positions: [ObjectIdentifier: Int] = [:]
    private var last = 0

    mutating func add(_ range: Range<Int>, for entry: PluginEntry) {
        if !all.isEmpty, all[last].entry === entry {
            extend(last, by: range)
        } else if let known = positions[ObjectIdentifier(entry)] {
            last = known
            extend(known, by: range)
        } else {
            last = all.count
            positions[ObjectIdentifier(entry)] = last
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
