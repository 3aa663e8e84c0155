extension AccessRule {
    /// A rule about one adapter's facts, perhaps of one source alone, which its words then name. It names what it permits,
    /// as ``init(_:naming:permits:)`` does.
    ///
    /// - Parameters:
    ///   - description: the rule in words, without its source.
    ///   - facts: the type of the facts.
    ///   - source: the one source they must come through, or `nil` for every source with such facts.
    ///   - permits: what is asked of the facts.
    package init<Facts: OriginFacts>(
        _ description: String,
        naming facts: Facts.Type,
        of source: SourceName?,
        permits: @escaping @Sendable (Facts) -> Bool
    ) {
        let place = source.map { " of source \($0)" } ?? ""
        self.init(description + place, naming: facts) { from, facts in
            (source == nil || from == source) && permits(facts)
        }
    }
}
