/// The metrics of a supervisor and their labels. This is the only file that defines their names.
///
/// The names are in snake case and end in the unit, and the names of counters end in `_total`. Prometheus and
/// OpenMetrics expect this form, and StatsD and OpenTelemetry accept the names unchanged. If the names contained dots,
/// Prometheus would rewrite them, and searching Prometheus for a name from this file would find nothing.
enum MetricName: String, CaseIterable, Sendable {
    case outcomes = "signalbox_outcomes_total"
    case attempts = "signalbox_attempts_total"
    case callDuration = "signalbox_call_duration_seconds"
    case duplicates = "signalbox_duplicates_total"
    case deadLetters = "signalbox_dead_letters_total"
    case deadLettersDropped = "signalbox_dead_letters_dropped_total"
    case deadLettersStored = "signalbox_dead_letters_stored"
    case deadLettersFullness = "signalbox_dead_letters_fullness_ratio"
    case lateReturns = "signalbox_late_returns_total"
    case callsStalled = "signalbox_calls_stalled"
    case unreadableItems = "signalbox_unreadable_items_total"
    case windowArrivals = "signalbox_window_arrivals"
    case windowBytes = "signalbox_window_bytes"

    var labels: [MetricLabel] {
        switch self {
        case .outcomes: [.source, .plugin, .outcome, .code]
        case .attempts, .callDuration: [.source, .plugin]
        case .duplicates, .deadLetters, .lateReturns, .unreadableItems, .windowArrivals, .windowBytes: [.source]
        case .deadLettersDropped, .deadLettersStored, .deadLettersFullness, .callsStalled: []
        }
    }
}

/// The labels of a supervisor's metrics. Label values never come from a message, so there are only as many values as
/// the program has sources and plugins.
enum MetricLabel: String, CaseIterable, Sendable {
    case source, plugin, outcome, code

    /// The plugin label for arrivals for which no plugin was found.
    static let noPlugin = "none"
    /// The source and plugin label for the series beyond ``SupervisorMetrics/seriesLimit``.
    static let other = "other"
}
