@testable import Signalbox

// The texts of the tables in docs/observability.md and docs/log-lines.md, which DocumentedTablesTests compares with them.

extension MetricName {
    /// The kind of metric, in the terms of swift-metrics.
    enum Kind: String, Sendable { case counter, timer, meter }

    var kind: Kind {
        switch self {
        case .outcomes, .attempts, .duplicates, .deadLetters, .deadLettersDropped, .lateReturns, .unreadableItems:
            .counter
        case .callDuration: .timer
        case .deadLettersStored, .deadLettersFullness, .storeWritable, .callsStalled, .windowArrivals, .windowBytes:
            .meter
        }
    }

    var unit: String {
        switch self {
        case .outcomes, .duplicates, .windowArrivals: "arrivals"
        case .attempts: "attempts"
        case .lateReturns, .callsStalled: "calls"
        case .callDuration: "seconds"
        case .deadLetters, .deadLettersDropped, .deadLettersStored: "dead letters"
        case .deadLettersFullness, .storeWritable: "1"
        case .unreadableItems: "items"
        case .windowBytes: "bytes"
        }
    }
}

extension MetricLabel {
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

extension SpanField {
    var meaning: String {
        switch self {
        case .system: "always `signalbox`"
        case .operation: "always `process`"
        case .source: "the source's name in the configuration"
        case .action: "the action's name as sent; absent if the message could not be read"
        case .id: "the action's id, escaped and redacted; absent if the message could not be read"
        case .attempt: "the number of the attempt, from 1; absent from the span of an arrival"
        case .isDuplicate:
            "`true` on the span of a repeated arrival, answered without a call; absent otherwise"
        case .outcome: "`handled`, `rejected`, `failed` or `abandoned`"
        case .code: "the exact reason for the outcome, such as `invalidBody`, `timeout` or `drain`"
        }
    }
}

extension LogKind {
    /// The maximum frequency of the line, for docs/log-lines.md.
    var frequency: String {
        switch self {
        case .deadLetter:
            "one per arrival, within the source's budget; none for arrivals that the supervisor rejects as unavailable,"
                + " because a stalled plugin and a circuit breaker have their own lines"
        case .mostRejected:
            "one when more than half of a source's messages, at least 20, are rejected for one reason, then one per"
                + " minute and one at the end; single lines for this reason are left out"
        case .abandoned: "one per arrival, within the source's budget; none for arrivals that a plugin gave back"
        case .inlineEnded: "one per plugin with `runsInline`"
        case .lateReturn: "one per arrival, within the source's budget"
        case .givenBack: "one per minute and source, and one at the end"
        case .stalled: "one per minute and plugin that does not return"
        case .breakerOpened, .breakerClosed: "one per change of state, so at most two per plugin within `openFor`"
        case .dropped: "one per minute, and one at the end"
        case .withheld: "one per source at the end, if withheld lines have not been reported"
        case .sourceEnded, .sourceFailed: "one per run of an adapter"
        case .sourceRemoved: "one per removal"
        case .draining: "one per run"
        case .notReturned: "one per plugin at the end of the drain"
        case .storeFailed: "one per minute while commits fail"
        case .storeRecovered: "one per recovery"
        case .storeUnreadable: "one per second and source"
        case .lettersDeleted: "one per commit that exceeds a limit"
        case .lettersNearlyFull: "one at 80 % of a limit"
        case .historyDropped: "one per commit after outcomes were dropped"
        case .logTorn: "one per run, at its start, after lost power"
        }
    }
}

extension LogField {
    /// The meaning of the field, for docs/log-lines.md.
    var meaning: String {
        switch self {
        case .source: "the source's name in the configuration"
        case .action: "the action's name as sent; absent if the message could not be read"
        case .id: "the action's id, from the sender or assigned; escaped and redacted"
        case .plugin: "the action that the plugin is registered for; absent if no plugin was found"
        case .outcome: "`handled`, `rejected`, `failed` or `abandoned`"
        case .code: "the exact reason for the outcome, such as `unknownAction`, `timeout` or `drain`"
        case .attempts:
            "the number of attempts at the call, middleware and decoding included; absent if there was no attempt"
        case .rejected: "the number of messages rejected for this reason since the minute began"
        case .messages: "the number of the source's messages settled in the same time"
        case .advice: "what to do next"
        case .unavailable: "the number of arrivals rejected because the plugin is stalled, since the last such line"
        case .givenBack: "the number of arrivals that plugins gave back since the last such line"
        case .failures: "the number of consecutive failed actions that opened the circuit breaker, or of failed commits"
        case .openFor: "how long the circuit breaker stays open before an action is tried"
        case .reason:
            "the last of these failures, the reason for the arrival last given back, or why spans are not exported; escaped"
                + " and redacted"
        case .rejectedWhileOpen: "the number of arrivals rejected while the circuit breaker was open"
        case .dropped:
            "the number of dead letters, outcomes or spans that were dropped or deleted since the last such line"
        case .droppedTotal: "the total number of dead letters that the store dropped"
        case .call: "the source and the plugin of a call that is still running, as `source/action`"
        case .limit: "the maximum duration of the drain, or the part of a limit that is in use"
        case .linesWithheld: "the number of lines over the source's budget, which only this line reports"
        case .body: "the message's body; only the command's plugin `log` writes it"
        case .file: "the configuration file"
        case .at: "the position of the error in a new configuration: file, line, column"
        case .key: "the configuration key with the error"
        case .problem: "the error, and what to write instead; redacted"
        case .sourcesAdded: "the names of the sources that a reload added"
        case .sourcesChanged: "the names of the sources that a reload changed"
        case .sourcesRemoved: "the names of the sources that a reload removed"
        case .pluginsAdded: "the actions of the plugins that a reload added"
        case .pluginsChanged: "the actions of the plugins that a reload changed"
        case .pluginsRemoved: "the actions of the plugins that a reload removed"
        case .program: "the program of a plugin with `use: process`"
        case .step: "the step of a chain, as `steps[0], use: filter`"
        }
    }
}
