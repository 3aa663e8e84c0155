import SignalboxCore

/// Facts that answer whatever they are asked.
struct TracedFacts: TraceCarrying {
    static let kind = "traced"
    var values: [String: String]

    func traceValue(forKey key: String) -> String? { values[key] }
}
