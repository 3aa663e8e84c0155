/// What a place of a lane does next.
enum LaneWork: Sendable {
    /// Calls the plugin.
    case call(LaneRun)
    /// Decodes the bodies, to learn their keys.
    case sort(LaneRun)
}
