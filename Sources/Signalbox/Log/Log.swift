import Logging
import SignalboxCore

/// The kinds of log line the supervisor writes, each with its level and text. Every line has exactly one kind.
enum LogKind: String, CaseIterable, Sendable {
    case deadLetter, abandoned, givenBack, lateReturn, stalled, breakerOpened, breakerClosed, dropped, withheld,
        sourceEnded,
        sourceFailed, sourceRemoved, draining, notReturned

    /// - `error`: requires action; the condition does not clear on its own.
    /// - `warning`: a message was not handled, or log lines are missing.
    /// - `notice`: nothing was lost, but the event may be of interest.
    /// - `info`: the supervisor's life cycle, a few lines per run.
    /// - `debug`: details for troubleshooting. Handled messages are not logged at any level.
    var level: Logger.Level {
        switch self {
        case .givenBack, .stalled, .sourceFailed, .notReturned: .error
        case .deadLetter, .breakerOpened, .dropped, .withheld: .warning
        case .abandoned, .lateReturn, .breakerClosed: .notice
        case .draining: .info
        case .sourceEnded, .sourceRemoved: .debug
        }
    }

    /// The text at the start of the line.
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

    /// The maximum frequency of the line, for docs/observability.md.
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
        case .withheld: "one per source at the end, when lines were withheld and no other line reports them"
        case .sourceEnded, .sourceFailed: "one per run of an adapter"
        case .sourceRemoved: "one per removal"
        case .draining: "one per run"
        case .notReturned: "one per plugin at the end of the drain"
        }
    }

    /// The fields a line of this kind may have besides ``LogField/source``.
    var fields: [LogField] {
        switch self {
        case .deadLetter, .abandoned:
            [.action, .id, .plugin, .outcome, .code, .attempts, .advice, .linesWithheld]
        case .lateReturn: [.action, .id, .plugin, .linesWithheld]
        case .givenBack: [.plugin, .givenBack, .reason, .advice]
        case .stalled: [.plugin, .unavailable, .advice]
        case .breakerOpened: [.plugin, .failures, .openFor, .reason, .advice]
        case .breakerClosed: [.plugin, .rejectedWhileOpen, .advice]
        case .dropped: [.dropped, .droppedTotal, .advice]
        case .withheld: [.linesWithheld]
        case .draining: [.limit]
        case .notReturned: [.call]
        case .sourceEnded, .sourceFailed, .sourceRemoved: []
        }
    }
}

/// The fields a log line of the supervisor, an adapter or the command may have.
package enum LogField: String, CaseIterable, Sendable {
    case source, action, id, plugin, outcome, code, attempts, advice, unavailable, givenBack, failures, openFor, reason
    case rejectedWhileOpen, dropped, droppedTotal, call, limit, linesWithheld, body
    case file, at, key, problem, sourcesAdded, sourcesChanged, sourcesRemoved, pluginsAdded, pluginsChanged,
        pluginsRemoved

    /// The meaning of the field, for docs/observability.md.
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
        case .reason: "the last of these failures, or the last reason for giving an arrival back; escaped and redacted"
        case .rejectedWhileOpen: "how many arrivals were refused while it was open"
        case .dropped: "how many dead letters the store dropped since the last such line"
        case .droppedTotal: "how many it has dropped in all"
        case .call: "the source and the plugin of a call that is still running, as `source/action`"
        case .limit: "how long the drain may take"
        case .linesWithheld: "how many lines were over the source's budget and are reported only by this one"
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

/// The fields of one log line, escaped and redacted.
struct LogFields: Sendable, ExpressibleByDictionaryLiteral {
    private(set) var metadata: Logger.Metadata = [:]

    init() {}

    init(dictionaryLiteral elements: (LogField, String)...) {
        for (field, text) in elements { self[field] = text }
    }

    /// The value of a field. Values may be untrusted text; the setter escapes and redacts them.
    subscript(field: LogField) -> String? {
        get { metadata[field.rawValue].map { "\($0)" } }
        set { metadata[field.rawValue] = newValue.map { .string(LogText.shown($0)) } }
    }
}

extension Logger {
    /// Writes one line: the text of its kind, then the detail and the fields.
    ///
    /// - Parameter detail: Untrusted text; it is escaped and redacted.
    func write(_ kind: LogKind, _ detail: String? = nil, _ fields: LogFields = LogFields()) {
        assert(
            Set(fields.metadata.keys).isSubset(of: (kind.fields + [.source]).map(\.rawValue)),
            "a line of the kind \(kind) has a field that docs/observability.md does not list"
        )
        guard logLevel <= kind.level else { return }
        let detail = detail.map { ": \(LogText.shown($0))" } ?? ""
        log(level: kind.level, "\(kind.text)\(detail)", metadata: fields.metadata)
    }
}

extension Outcome {
    /// The reason and detail, for a log line.
    var text: String {
        switch self {
        case .handled: name
        case .rejected(let rejection): rejection.description
        case .failed(let failure): failure.description
        case .abandoned(let abandonment): abandonment.text
        }
    }

    /// The action a reader of the log can take.
    var advice: String? {
        switch self {
        case .handled: nil
        case .rejected(let rejection): rejection.advice
        case .failed(let failure):
            failure.reason == .timeout
                ? "give the plugin a longer timeout, or find out what it waits for"
                : "see the plugin; the original message is in the dead letter"
        case .abandoned(.ackDeadline): "the plugin is too slow for its source's ack deadline; the source sends it again"
        case .abandoned(let abandonment):
            abandonment.isGivenBack
                ? "remove the cause; until then the source redelivers the message after growing pauses"
                : "the source sends it again where it can"
        }
    }
}

extension Outcome.Rejection {
    var advice: String {
        switch reason {
        case .malformed: "see what the sender sends; the original message is in the dead letter"
        case .unknownAction: "register a plugin for this action, or find out who sends it"
        case .sourceNotAllowed: "name this origin in the plugin's access rule if it may call it"
        case .invalidBody: "compare the sender's body with the plugin's Info"
        case .expired: "see whether the plugin or its source is too slow"
        case .idConflict: "let the sender give each message an id of its own, or turn deduplication off for the source"
        case .deliveryLimit: "find out why this message ends the program; it is in the dead letter"
        case .overloaded: "let the source send less, or raise its rate limit"
        default: "find out what the plugin waits for"
        }
    }
}
