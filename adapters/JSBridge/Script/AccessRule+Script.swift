public import SignalboxCore

extension AccessRule {
    /// Messages of script sources, from a page's main frame alone: where the engine does not tell, nothing is allowed.
    ///
    /// - Parameter source: the one source they must come through, or `nil` for every script source.
    public static func script(source: SourceName? = nil) -> AccessRule {
        let place = source.map { " of source \($0)" } ?? ""
        return AccessRule("script in the main frame\(place)", naming: ScriptFacts.self) { from, facts in
            (source == nil || from == source) && facts.isMainFrame == .yes
        }
    }
}
