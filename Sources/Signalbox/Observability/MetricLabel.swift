/// Every label of a supervisor's metrics. None has a value that comes from a message, so there are never more of them
/// than the program has sources and plugins.
enum MetricLabel: String, CaseIterable, Sendable {
    case source, plugin, outcome, code

    /// The plugin of what was meant for none.
    static let noPlugin = "none"
    /// Source and plugin of what is over ``MetricsMiddleware/seriesLimit``.
    static let other = "other"

    var meaning: String {
        switch self {
        case .source: "the source's name in the configuration"
        case .plugin:
            "the action that the plugin is registered for; `none` where none was found, whatever was asked for"
        case .outcome: "`handled`, `rejected`, `failed` or `abandoned`"
        case .code: "the reason, such as `unknownAction`, `timeout` or `drain`; `handled` for what was handled"
        }
    }
}
