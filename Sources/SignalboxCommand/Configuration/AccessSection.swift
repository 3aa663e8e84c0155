import SignalboxCore
import SignalboxRoutes

/// One entry of a plugin's `from`.
struct AccessSection: Sendable {
    /// What of the source's arrivals is meant.
    enum Part: Sendable, Hashable {
        case all
        case topic(TopicFilter)
        /// Links of an application's own scheme.
        case scheme(String)
        /// Links of `https` and `http` for this host.
        case host(String)
    }

    /// The source that may call the plugin.
    let source: SourceName
    let part: Part
}
