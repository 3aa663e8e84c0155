public import SignalboxCore
public import SignalboxRoutes

/// What a page's engine knows about where a message came from.
public struct ScriptFacts: OriginFacts {
    /// `script`.
    public static let kind = "script"

    /// What an engine can say about a frame.
    public enum Knowledge: String, Sendable, Hashable, Encodable {
        /// It is so.
        case yes
        /// It is not so.
        case no
        /// The engine does not tell.
        case unknown
    }

    /// The engine that ran the script, such as `JavaScriptCore`.
    public let engine: String
    /// Whether the page's main frame spoke. A script without a page is its own main frame.
    public let isMainFrame: Knowledge
    /// The origin of the frame that spoke, or `nil`: it is opaque, as that of a file or a sandboxed frame is, the engine
    /// does not tell, or there is no page. No rule that names an origin allows `nil`.
    public let origin: WebOrigin?

    /// An engine makes one per frame and origin.
    package init(engine: String, isMainFrame: Knowledge, origin: WebOrigin? = nil) {
        self.engine = engine
        self.isMainFrame = isMainFrame
        self.origin = origin
    }
}

extension ScriptFacts {
    private enum CodingKeys: String, CodingKey { case engine, isMainFrame, origin }

    /// Encodes all facts; the origin as browsers send it, and not at all where there is none.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(engine, forKey: .engine)
        try container.encode(isMainFrame, forKey: .isMainFrame)
        try container.encodeIfPresent(origin?.description, forKey: .origin)
    }
}

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
