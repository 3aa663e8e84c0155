public import SignalboxCore
public import SignalboxRoutes

extension AccessRule {
    /// Messages of script sources, from a page's main frame alone: where the engine does not tell, nothing is allowed.
    ///
    /// - Parameter source: the one source they must come through, or `nil` for every script source.
    public static func script(source: SourceName? = nil) -> AccessRule {
        script("script in the main frame", source) { $0.isMainFrame == .yes }
    }

    /// Messages of script sources from frames of exactly this origin: scheme, host and port are the same in normal form.
    /// A host below it is another origin, and so is the same host on another port or by `http`.
    ///
    /// A frame whose origin is opaque or unknown is not allowed, and so nothing of an engine without a page.
    ///
    /// - Parameters:
    ///   - origin: such as `try WebOrigin("https://app.example")`.
    ///   - mainFrameOnly: whether the page's main frame alone may speak, which is the default; else every frame of the
    ///     origin may, also one that a page of another origin has embedded.
    ///   - source: the one source they must come through, or `nil` for every script source.
    public static func script(
        origin: WebOrigin,
        mainFrameOnly: Bool = true,
        source: SourceName? = nil
    ) -> AccessRule {
        let frame = mainFrameOnly ? "the main frame" : "any frame"
        return script("script of \(origin) in \(frame)", source) { facts in
            facts.origin == origin && (!mainFrameOnly || facts.isMainFrame == .yes)
        }
    }

    private static func script(
        _ description: String,
        _ source: SourceName?,
        permits: @escaping @Sendable (ScriptFacts) -> Bool
    ) -> AccessRule {
        AccessRule(description, naming: ScriptFacts.self, of: source, permits: permits)
    }
}
