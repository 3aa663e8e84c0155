public import SignalboxCore
public import SignalboxRoutes

extension AccessRule {
    /// Messages of push sources whose topic the filter matches.
    ///
    /// - Parameters:
    ///   - filter: the topics; `#` and `+/x` do not match topics that begin with `$`.
    ///   - source: the one source they must come through, or `nil` for every push source.
    public static func topic(_ filter: TopicFilter, source: SourceName? = nil) -> AccessRule {
        AccessRule("topic \(filter.text)", naming: PushFacts.self, of: source) { filter.matches($0.topic) }
    }
}
