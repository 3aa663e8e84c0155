import SignalboxCore
import SignalboxRoutes

/// One entry of a plugin's `from`.
struct AccessSection: Sendable {
    /// The source that may call the plugin.
    let source: SourceName
    /// Which of its topics, or `nil` for all.
    let topic: TopicFilter?
}
