import Logging
import SignalboxCore

/// The kinds of log lines that the supervisor writes. Every line has exactly one kind, and each kind has a fixed level
/// and text.
enum LogKind: String, CaseIterable, Sendable {
    case deadLetter, mostRejected, abandoned, givenBack, lateReturn, stalled, inlineEnded, breakerOpened, breakerClosed,
        dropped,
        withheld,
        sourceEnded,
        sourceFailed, sourceRemoved, draining, notReturned, storeFailed, storeRecovered, storeUnreadable,
        lettersDeleted,
        lettersNearlyFull, historyDropped, logTorn

    /// The level of lines of this kind, according to these rules:
    ///
    /// - `error`: The line requires action, because the condition does not go away by itself.
    /// - `warning`: A message was not handled, or log lines are missing.
    /// - `notice`: Nothing was lost, but the event may be of interest.
    /// - `info`: The line describes the supervisor's life cycle. There are only a few such lines per run.
    /// - `debug`: The line gives details for troubleshooting. Handled messages are not logged at any level.
    var level: Logger.Level {
        switch self {
        case .givenBack, .stalled, .sourceFailed, .notReturned, .storeFailed, .storeUnreadable: .error
        case .deadLetter, .mostRejected, .breakerOpened, .dropped, .withheld, .lettersDeleted, .lettersNearlyFull,
            .historyDropped, .logTorn:
            .warning
        case .abandoned, .lateReturn, .inlineEnded, .breakerClosed, .storeRecovered: .notice
        case .draining: .info
        case .sourceEnded, .sourceRemoved: .debug
        }
    }

    /// The text that lines of this kind start with.
    var text: String {
        switch self {
        case .deadLetter: "dead letter"
        case .mostRejected: "many messages are rejected for the same reason"
        case .abandoned: "abandoned, not acknowledged"
        case .givenBack: "plugin gave messages back; they are not acknowledged and are redelivered"
        case .lateReturn: "plugin returned after its call was settled; its result was not sent"
        case .stalled: "plugin has not returned; arrivals for it become dead letters"
        case .inlineEnded: "plugin is too slow for its source's thread; its calls run on a lane from now on"
        case .breakerOpened:
            "circuit breaker opened: the plugin is not called; arrivals for it become dead letters"
        case .breakerClosed: "circuit breaker closed: the plugin works again"
        case .dropped: "dead letters were dropped: the store is full"
        case .withheld: "log lines about arrivals were withheld"
        case .sourceEnded: "source ended"
        case .sourceFailed: "source ended with an error; other sources continue"
        case .sourceRemoved: "source removed"
        case .draining: "draining"
        case .notReturned: "plugin has not returned"
        case .storeFailed: "the store cannot be written"
        case .storeRecovered: "the store can be written again"
        case .storeUnreadable: "the store cannot be read"
        case .lettersDeleted: "dead letters were deleted: the store has reached a limit"
        case .lettersNearlyFull: "the store's dead letters are close to a limit"
        case .historyDropped: "outcomes are missing in the store's history"
        case .logTorn: "the store's log ended in the middle of a commit, which was dropped"
        }
    }

    /// The fields that a line of this kind may have in addition to ``LogField/source``.
    var fields: [LogField] {
        switch self {
        case .deadLetter, .abandoned:
            [.action, .id, .plugin, .outcome, .code, .attempts, .advice, .linesWithheld]
        case .mostRejected: [.code, .rejected, .messages, .advice]
        case .lateReturn: [.action, .id, .plugin, .linesWithheld]
        case .givenBack: [.plugin, .givenBack, .reason, .advice]
        case .stalled: [.plugin, .unavailable, .advice]
        case .inlineEnded: [.plugin, .advice]
        case .breakerOpened: [.plugin, .failures, .openFor, .reason, .advice]
        case .breakerClosed: [.plugin, .rejectedWhileOpen, .advice]
        case .dropped: [.dropped, .droppedTotal, .advice]
        case .withheld: [.linesWithheld]
        case .draining: [.limit]
        case .notReturned: [.call]
        case .storeFailed, .storeUnreadable, .logTorn: [.advice]
        case .storeRecovered: [.failures]
        case .lettersDeleted: [.dropped, .advice]
        case .lettersNearlyFull: [.limit, .advice]
        case .historyDropped: [.dropped, .advice]
        case .sourceEnded, .sourceRemoved: []
        case .sourceFailed: [.code]
        }
    }
}

/// The fields that may appear in log lines written by the supervisor, an adapter or the command.
package enum LogField: String, CaseIterable, Sendable {
    case source, action, id, plugin, outcome, code, attempts, rejected, messages, advice, unavailable, givenBack,
        failures, openFor, reason
    case rejectedWhileOpen, dropped, droppedTotal, call, limit, linesWithheld, body
    case file, at, key, problem, sourcesAdded, sourcesChanged, sourcesRemoved, pluginsAdded, pluginsChanged,
        pluginsRemoved
    case program, step
}

/// The fields of a log line, escaped and redacted.
struct LogFields: Sendable, ExpressibleByDictionaryLiteral {
    private(set) var metadata: Logger.Metadata = [:]

    init() {}

    init(dictionaryLiteral elements: (LogField, String)...) {
        for (field, text) in elements { self[field] = text }
    }

    /// The value of a field. The setter escapes and redacts the value, because it may be untrusted text.
    subscript(field: LogField) -> String? {
        get { metadata[field.rawValue].map { "\($0)" } }
        set { metadata[field.rawValue] = newValue.map { .string(Redaction.line($0)) } }
    }
}

extension Logger {
    /// Writes a line with the kind's text, the detail and the fields.
    ///
    /// - Parameter detail: Text that is escaped and redacted, so it may be untrusted.
    func write(_ kind: LogKind, _ detail: String? = nil, _ fields: LogFields = LogFields()) {
        assert(
            Set(fields.metadata.keys).isSubset(of: (kind.fields + [.source]).map(\.rawValue)),
            "a line of the kind \(kind) has a field that docs/log-lines.md does not list"
        )
        guard logLevel <= kind.level else { return }
        let detail = detail.map { ": \(Redaction.line($0))" } ?? ""
        log(level: kind.level, "\(kind.text)\(detail)", metadata: fields.metadata)
    }
}

extension Outcome {
    /// The reason and the detail, formatted for use in a single line.
    package var text: String {
        switch self {
        case .handled: name
        case .rejected(let rejection): rejection.description
        case .failed(let failure): failure.description
        case .abandoned(let abandonment): abandonment.text
        }
    }

    /// What a reader of the log can do about the problem.
    var advice: String? {
        switch self {
        case .handled: nil
        case .rejected(let rejection): rejection.advice
        case .failed(let failure):
            failure.reason == .timeout
                ? "give the plugin a longer timeout, or find out what it waits for"
                : "check the plugin; the dead letter has the original message"
        case .abandoned(.ackDeadline): "the plugin is too slow for the source's ack deadline; the source redelivers it"
        case .abandoned(let abandonment):
            abandonment.isGivenBack
                ? "remove the cause; until then the source redelivers the message at growing intervals"
                : "the source redelivers the message if it can"
        }
    }
}

extension Outcome.Rejection {
    var advice: String {
        switch reason {
        case .malformed:
            "compare the message with the format that its source expects; the dead letter, such as a line of 'run "
                + "--outcomes', has the message and where it came from"
        case .unknownAction: "register a plugin for this action, or find out who sends it"
        case .sourceNotAllowed:
            "if this origin may call the plugin, name it in the plugin's 'from'; the dead letter, such as a line of 'run "
                + "--outcomes', has the origin"
        case .invalidBody where bodyError == nil: "correct what the sender sends, or the settings of the plugin"
        case .invalidBody: "compare the sender's body with the plugin's Info"
        case .expired: "check whether the plugin or its source is too slow"
        case .idConflict: "make the sender give each message its own id, or turn off deduplication for the source"
        case .crashedPlugin, .deliveryLimit:
            "find out why the program ends while handling this message; the dead letter has it"
        case .overloaded: "make the source send less, or raise its rate limit"
        default: "find out what the plugin waits for"
        }
    }
}
