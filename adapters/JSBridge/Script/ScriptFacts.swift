public import SignalboxCore

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

    /// An engine makes one per page.
    package init(engine: String, isMainFrame: Knowledge) {
        self.engine = engine
        self.isMainFrame = isMainFrame
    }
}
