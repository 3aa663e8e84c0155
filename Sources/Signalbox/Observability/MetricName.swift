/// The metrics of a supervisor, with kind, unit, labels and meaning. Their names are defined only here.
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

    /// The kind of metric, in the terms of swift-metrics.
    enum Kind: String, Sendable { case counter, timer, meter }

    var kind: Kind {
        switch self {
        case .outcomes, .attempts, .duplicates, .deadLetters, .deadLettersDropped, .lateReturns: .counter
        case .callDuration: .timer
        case .callsStalled, .windowArrivals, .windowBytes: .meter
        }
    }

    var unit: String {
        switch self {
        case .outcomes, .duplicates, .windowArrivals: "arrivals"
        case .attempts: "attempts"
        case .lateReturns, .callsStalled: "calls"
        case .callDuration: "seconds"
        case .deadLetters, .deadLettersDropped: "dead letters"
        case .windowBytes: "bytes"
        }
    }

    var labels: [MetricLabel] {
        switch self {
        case .outcomes: [.source, .plugin, .outcome, .code]
        case .attempts, .callDuration: [.source, .plugin]
        case .duplicates, .deadLetters, .lateReturns, .windowArrivals, .windowBytes: [.source]
        case .deadLettersDropped, .callsStalled: []
        }
    }

    var meaning: String {
        switch self {
        case .outcomes: "arrivals settled, duplicates included; each has exactly one outcome"
        case .attempts:
            "attempts at a call, middleware and decoding included, counted when the arrival is settled; more than"
                + " outcomes if the plugin retries"
        case .callDuration:
            "the duration of each call, inner middleware included; a call that timed out is recorded when it returns"
        case .duplicates: "repeated arrivals, answered without a call"
        case .deadLetters: "arrivals that were rejected or failed and became dead letters"
        case .deadLettersDropped: "dead letters that did not fit in the store; read once a second"
        case .lateReturns: "calls that returned after they were settled; read once a second"
        case .callsStalled: "settled calls that have not returned; read once a second"
        case .windowArrivals: "accepted arrivals that are not settled; read once a second"
        case .windowBytes: "bytes of the messages of these arrivals; read once a second"
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

    var meaning: String {
        switch self {
        case .source: "the source's name in the configuration"
        case .plugin:
            "the action that the plugin is registered for; `none` if no plugin was found, whatever the action"
        case .outcome: "`handled`, `rejected`, `failed` or `abandoned`"
        case .code: "the reason for the outcome, such as `unknownAction` or `drain`; `handled` for handled arrivals"
        }
    }
}
