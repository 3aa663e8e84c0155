public import SignalboxCore

extension AccessRule {
    /// Messages of script sources, from a page's main frame alone: where the engine does not tell, nothing is allowed.
    ///
    /// - Parameter source: the one source they must come through, or `nil` for every script source.
    public static func script(source: SourceName? = nil) -> AccessRule {
        let place = source.map { " of source \($0)" } ?? ""
        return AccessRule("script in the main frame\(place)") { origin in
            guard source == nil || origin.source == source, let facts = origin.facts as? ScriptFacts else {
                return false
            }
            return facts.isMainFrame == .yes
        }
    }
}
