/// The metrics of a supervisor, with their labels. Their names are defined only here.
///
/// Names are in snake case, end in the unit and, for counters, in `_total`, as Prometheus and OpenMetrics expect.
/// StatsD and OpenTelemetry accept them unchanged. Dots would be rewritten for Prometheus, so that the names here could
/// not be found there.
enum MetricName: String, CaseIterable, Sendable {
    case outcomes = "signalbox_outcomes_total"
    case attempts = "signalbox_attempts_total"
    case callDuration = "signalbox_call_duration_seconds"
    case duplicates = "signalbox_duplicates_total"
    case deadLetters = "signalbox_dead_letters_total"
    case deadLettersDropped = "signalbox_dead_letters_dropped_total"
    case lateReturns = "signalbox_late_returns_total"
    case callsStalled = "signalbox_calls_stalled"
    case windowArrivals = "signalbox_window_arrivals"
    case windowBytes = "signalbox_window_bytes"

    var labels: [MetricLabel] {
        switch self {
        case .outcomes: [.source, .plugin, .outcome, .code]
        case .attempts, .callDuration: [.source, .plugin]
        case .duplicates, .deadLetters, .lateReturns, .windowArrivals, .windowBytes: [.source]
        case .deadLettersDropped, .callsStalled: []
        }
    }
}

/// The labels of a supervisor's metrics. No value comes from a message, so their number is bounded by the program's
/// sources and plugins.
enum MetricLabel: String, CaseIterable, Sendable {
    case source, plugin, outcome, code

    /// The plugin label of arrivals without a plugin.
    static let noPlugin = "none"
    /// The source and plugin label of series over ``MetricsMiddleware/seriesLimit``.
    static let other = "other"
}
