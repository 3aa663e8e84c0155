public import SignalboxCore
public import SignalboxRoutes

/// The origin facts that the engine of a page reports for a message.
///
/// The access rules ``AccessRule/script(source:)`` and ``AccessRule/script(origin:mainFrameOnly:source:)`` check these
/// facts, so that a plugin rarely has to read them itself.
public struct ScriptFacts: OriginFacts {
    /// `script`.
    public static let kind = "script"

    /// An engine's answer to a question about a frame.
    public enum Knowledge: String, Sendable, Hashable, Encodable {
        /// The fact is true of the frame.
        case yes
        /// The fact is false for the frame.
        case no
        /// The engine does not report the fact.
        case unknown
    }

    /// The engine that ran the script, such as `JavaScriptCore`.
    public let engine: String
    /// Whether the main frame of the page sent the message. A script without a page counts as the main frame.
    public let isMainFrame: Knowledge
    /// The origin of the frame that sent the message.
    ///
    /// The origin is `nil` if it is opaque (a file or a sandboxed frame), if the engine does not report it, or if there
    /// is no page. A rule that names an origin never allows `nil`.
    public let origin: WebOrigin?

    /// Creates the facts of one frame and origin.
    package init(engine: String, isMainFrame: Knowledge, origin: WebOrigin? = nil) {
        self.engine = engine
        self.isMainFrame = isMainFrame
        self.origin = origin
    }
}

extension AccessRule {
    /// Allows messages of script sources from the main frame of a page.
    ///
    /// The rule denies a message if the engine does not report its frame.
    ///
    /// - Parameter source: The only source to allow, or `nil` for every script source.
    public static func script(source: SourceName? = nil) -> AccessRule {
        AccessRule("script in the main frame", naming: ScriptFacts.self, of: source) { $0.isMainFrame == .yes }
    }

    /// Allows messages of script sources from frames of exactly this origin.
    ///
    /// Use this rule for actions that only your own pages may call. Scheme, host and port must match in normal form, so
    /// a subdomain is another origin, and so is the same host on another port or with `http`.
    ///
    /// The rule denies a frame whose origin is opaque or unknown, and every message of an engine without a page.
    ///
    /// - Parameters:
    ///   - origin: The origin to allow, such as `try WebOrigin("https://app.example")`.
    ///   - mainFrameOnly: Whether only the main frame of the page may send. The default is `true`. Otherwise every
    ///     frame of the origin may send, including one that is embedded in a page of another origin.
    ///   - source: The only source to allow, or `nil` for every script source.
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
