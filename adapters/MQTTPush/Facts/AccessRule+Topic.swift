public import SignalboxCore
public import SignalboxRoutes

extension AccessRule {
    /// Messages of push sources whose topic the filter matches.
    ///
    /// - Parameters:
    ///   - filter: the topics; `#` and `+/x` do not match topics that begin with `$`.
    ///   - source: the one source they must come through, or `nil` for every push source.
    public static func topic(_ filter: TopicFilter, source: SourceName? = nil) -> AccessRule {
        let place = source.map { " of source \($0)" } ?? ""
        return AccessRule("topic \(filter.text)\(place)", naming: PushFacts.self) { from, facts in
            (source == nil || from == source) && filter.matches(facts.topic)
        }
    }
}
