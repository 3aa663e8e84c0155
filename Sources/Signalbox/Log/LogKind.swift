import Logging

/// Every kind of line that the supervisor writes, with its level and its text. A line has exactly one event.
enum LogKind: String, CaseIterable, Sendable {
    case deadLetter, abandoned, givenBack, lateReturn, stalled, breakerOpened, breakerClosed, dropped, withheld,
        sourceEnded,
        sourceFailed, sourceRemoved, draining, notReturned

    /// - `error`: somebody must act, and it does not mend itself.
    /// - `warning`: a message was not handled, or lines are missing.
    /// - `notice`: nothing is lost, and somebody may want to know.
    /// - `info`: a supervisor's life, a few lines in all.
    /// - `debug`: for whoever looks for a fault. No level has a line for what was handled.
    var level: Logger.Level {
        switch self {
        case .givenBack, .stalled, .sourceFailed, .notReturned: .error
        case .deadLetter, .breakerOpened, .dropped, .withheld: .warning
        case .abandoned, .lateReturn, .breakerClosed: .notice
        case .draining: .info
        case .sourceEnded, .sourceRemoved: .debug
        }
    }

    /// What the line begins with.
    var text: String {
        switch self {
        case .deadLetter: "dead letter"
        case .abandoned: "abandoned, not acknowledged"
        case .givenBack: "plugin cannot do its work now; its messages are not acknowledged and come again"
        case .lateReturn: "plugin returned after its call was settled; its result was not sent"
        case .stalled: "plugin has not returned; arrivals for it become dead letters"
        case .breakerOpened:
            "circuit breaker opened: the plugin is left alone; arrivals for it become dead letters"
        case .breakerClosed: "circuit breaker closed: the plugin works again"
        case .dropped: "dead letters were dropped: their store is full"
        case .withheld: "log lines about arrivals were withheld"
        case .sourceEnded: "source ended"
        case .sourceFailed: "source ended with an error; other sources go on"
        case .sourceRemoved: "source removed"
        case .draining: "draining"
        case .notReturned: "plugin has not returned"
        }
    }

    /// How often it comes at most, for docs/observability.md.
    var frequency: String {
        switch self {
        case .deadLetter:
            "one per arrival, within the source's budget; none for what the supervisor says is unavailable, as a stalled"
                + " plugin and a circuit breaker have lines of their own"
        case .abandoned: "one per arrival, within the source's budget; none for what a plugin gave back"
        case .lateReturn: "one per arrival, within the source's budget"
        case .givenBack: "one a minute per source, and one at the end"
        case .stalled: "one a minute per plugin that does not return"
        case .breakerOpened, .breakerClosed: "one each time, so at most two per plugin in the time it stays open"
        case .dropped: "one a minute, and one at the end"
        case .withheld: "one per source at the end, when lines were withheld and no other told of them"
        case .sourceEnded, .sourceFailed: "one per run of an adapter"
        case .sourceRemoved: "one per removal"
        case .draining: "one per run"
        case .notReturned: "one per plugin at the end of the drain"
        }
    }

    /// The fields it may have beside ``LogField/source``.
    var fields: [LogField] {
        switch self {
        case .deadLetter, .abandoned:
            [.action, .id, .plugin, .outcome, .code, .attempts, .advice, .linesWithheldBefore]
        case .lateReturn: [.action, .id, .plugin, .linesWithheldBefore]
        case .givenBack: [.plugin, .givenBack, .why, .advice]
        case .stalled: [.plugin, .unavailable, .advice]
        case .breakerOpened: [.plugin, .failures, .openFor, .why, .advice]
        case .breakerClosed: [.plugin, .rejectedMeanwhile, .advice]
        case .dropped: [.dropped, .droppedInAll, .advice]
        case .withheld: [.linesWithheldBefore]
        case .draining: [.limit]
        case .notReturned: [.call]
        case .sourceEnded, .sourceFailed, .sourceRemoved: []
        }
    }
}
