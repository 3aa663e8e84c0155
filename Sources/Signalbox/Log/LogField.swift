/// Every field that a log line may have: of the supervisor, of an adapter and of the command.
package enum LogField: String, CaseIterable, Sendable {
    case source, action, id, plugin, outcome, code, attempts, advice, unavailable, givenBack, failures, openFor, why
    case rejectedMeanwhile, dropped, droppedInAll, call, limit, linesWithheldBefore, body
    case file, at, key, problem, sourcesAdded, sourcesChanged, sourcesRemoved, pluginsAdded, pluginsChanged,
        pluginsRemoved

    /// What it says, for docs/observability.md.
    var meaning: String {
        switch self {
        case .source: "the source's name in the configuration"
        case .action: "the action's name, as it was sent; missing when the message could not be read"
        case .id: "the action's id: the sender's, or the assigned one; escaped and redacted"
        case .plugin: "the action that the plugin is registered for; missing when none was found"
        case .outcome: "`handled`, `rejected`, `failed` or `abandoned`"
        case .code: "what exactly became of it, such as `unknownAction`, `timeout` or `drain`"
        case .attempts:
            "how many attempts at a call were begun, middleware and decoding included; missing when none was"
        case .advice: "what whoever reads the line can do"
        case .unavailable: "how many arrivals a stalled plugin made unavailable since the last such line"
        case .givenBack: "how many arrivals plugins gave back since the last such line"
        case .failures: "how many failed actions in a row opened the circuit breaker"
        case .openFor: "how long it stays open before an action is tried"
        case .why: "the last of these failures, or the last reason for giving an arrival back; escaped and redacted"
        case .rejectedMeanwhile: "how many arrivals were refused while it was open"
        case .dropped: "how many dead letters the store dropped since the last such line"
        case .droppedInAll: "how many it has dropped in all"
        case .call: "the source and the plugin of a call that is still running, as `source/action`"
        case .limit: "how long the drain may take"
        case .linesWithheldBefore: "how many lines were over the source's budget and are told of by this one alone"
        case .body: "the message's body, which the command's plugin `log` shows on purpose, and nothing else ever does"
        case .file: "the configuration's file"
        case .at: "where a new configuration is wrong: file, line, column"
        case .key: "the key of the configuration that is meant"
        case .problem: "what is wrong with it, and what to write instead; redacted"
        case .sourcesAdded, .sourcesChanged, .sourcesRemoved: "names of sources, after a configuration was read anew"
        case .pluginsAdded, .pluginsChanged, .pluginsRemoved: "actions of plugins, after a configuration was read anew"
        }
    }
}
