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
    case storeWritable = "signalbox_store_writable"
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
        case .deadLettersDropped, .deadLettersStored, .deadLettersFullness, .storeWritable, .callsStalled: []
        }
    }

    /// What the metric says, for readers of its values.
    var meaning: String {
        switch self {
        case .outcomes: "arrivals settled, duplicates included; each has exactly one outcome"
        case .attempts:
            "attempts at a call, middleware and decoding included, counted when the arrival is settled; more than"
                + " outcomes if the plugin retries"
        case .callDuration:
            "the duration of each call, middleware included; a call that timed out is recorded when it returns"
        case .duplicates: "repeated arrivals, answered without a call"
        case .deadLetters: "arrivals that were rejected or failed and became dead letters"
        case .deadLettersDropped: "dead letters that did not fit in the store; read once a second"
        case .deadLettersStored: "dead letters in the store's file; read once a second"
        case .deadLettersFullness:
            "the share of the file's limit for dead letters that is in use; at 1 the oldest are deleted; read once a second"
        case .storeWritable: "whether the last commit to the store's file succeeded: 1, or 0 if not; read once a second"
        case .lateReturns: "calls that returned after they were settled; read once a second"
        case .callsStalled: "settled calls that have not returned; read once a second"
        case .unreadableItems: "items, such as query items of links, that could not be read; read once a second"
        case .windowArrivals: "accepted arrivals that are not settled; read once a second"
        case .windowBytes: "bytes of the messages of these arrivals; read once a second"
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
