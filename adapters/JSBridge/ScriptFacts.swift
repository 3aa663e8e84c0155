public import SignalboxCore
public import SignalboxRoutes

/// The facts that a page's engine reports about the origin of a message.
///
/// A plugin rarely needs to read these facts, because the access rules `AccessRule.script(source:)` and
/// `AccessRule.script(origin:mainFrameOnly:source:)` check them.
public struct ScriptFacts: OriginFacts {
    /// `script`.
    public static let kind = "script"

    /// An engine's answer to a yes-or-no question about a frame.
    public enum Knowledge: String, Sendable, Hashable, Codable {
        /// The fact is true for the frame.
        case yes
        /// The fact is false for the frame.
        case no
        /// The engine does not report the fact.
        case unknown
    }

    /// The engine that ran the script, such as `JavaScriptCore`.
    public let engine: String
    /// Whether the message came from the page's main frame. A script without a page is treated as the main frame.
    public let isMainFrame: Knowledge
    /// The origin of the frame that sent the message.
    ///
    /// This is `nil` if the origin is opaque (a file or a sandboxed frame), if the engine does not report it, or if
    /// there is no page. A rule that names an origin never allows `nil`.
    public let origin: WebOrigin?

    /// Creates the facts for one frame and its origin.
    package init(engine: String, isMainFrame: Knowledge, origin: WebOrigin? = nil) {
        self.engine = engine
        self.isMainFrame = isMainFrame
        self.origin = origin
    }
}

extension ScriptFacts: Decodable {
    private enum CodingKeys: String, CodingKey { case engine, isMainFrame, origin }

    /// Decodes facts that were stored.
    ///
    /// - Throws: `DecodingError` if a fact is missing or has another type, or an error if the origin is no origin.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let origin = try container.decodeIfPresent(String.self, forKey: .origin)
        self.init(
            engine: try container.decode(String.self, forKey: .engine),
            isMainFrame: try container.decode(Knowledge.self, forKey: .isMainFrame),
            origin: try origin.map { try WebOrigin($0) }
        )
    }
}

extension AccessRule {
    /// Allows messages that script sources send from a page's main frame.
    ///
    /// The rule denies a message if the engine does not report which frame sent it.
    ///
    /// - Parameter source: The only source to allow, or `nil` to allow every script source.
    public static func script(source: SourceName? = nil) -> AccessRule {
        AccessRule("script in the main frame", naming: ScriptFacts.self, of: source) { $0.isMainFrame == .yes }
    }

    /// Allows messages that script sources send from frames with exactly this origin.
    ///
    /// Use this rule for actions that only your own pages may call. The scheme, host and port must all match in normal
    /// form, so a subdomain is a different origin, as is the same host with a different port or with `http`.
    ///
    /// The rule denies a frame whose origin is opaque or unknown, and every message from an engine without a page.
    ///
    /// - Parameters:
    ///   - origin: The origin to allow, such as `try WebOrigin("https://app.example")`.
    ///   - mainFrameOnly: Whether only the page's main frame is allowed. If this is `false`, every frame with this
    ///     origin is allowed, even one that is embedded in a page from a different origin. The default is `true`.
    ///   - source: The only source to allow, or `nil` to allow every script source.
    public static func script(
        origin: WebOrigin,
        mainFrameOnly: Bool = true,
        source: SourceName? = nil
    ) -> AccessRule {
        let frame = mainFrameOnly ? "the main frame" : "any frame"
        return AccessRule("script of \(origin) in \(frame)", naming: ScriptFacts.self, of: source) { facts in
            facts.origin == origin && (!mainFrameOnly || facts.isMainFrame == .yes)
        }
    }
}
