/// Every attribute that a span of ``TracingMiddleware`` may have. The one place where their names are written.
enum SpanField: String, CaseIterable, Sendable {
    case system = "messaging.system"
    case operation = "messaging.operation.type"
    case source = "signalbox.source"
    case action = "signalbox.action"
    case id = "signalbox.id"
    case attempt = "signalbox.attempt"
    case isRepeat = "signalbox.repeat"
    case outcome = "signalbox.outcome"
    case code = "signalbox.code"

    var meaning: String {
        switch self {
        case .system: "always `signalbox`"
        case .operation: "always `process`"
        case .source: "the source's name in the configuration"
        case .action: "the action's name, as it was sent; missing when the message could not be read"
        case .id: "the action's id, escaped and redacted; missing when the message could not be read"
        case .attempt: "which call for the action it is, from 1; missing on a span of an arrival"
        case .isRepeat: "`true` on the span of an arrival that came again and was answered without a call; else missing"
        case .outcome: "`handled`, `rejected`, `failed` or `abandoned`"
        case .code: "what exactly became of it, such as `invalidBody`, `timeout` or `drain`"
        }
    }
}
