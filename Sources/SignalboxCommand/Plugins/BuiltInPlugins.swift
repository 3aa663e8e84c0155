import AppScheme
import HTTPActions
import Logging
import MQTTPush
import Signalbox
import SignalboxCore

/// Writes each action as one log line. This is the plugin `log`.
struct LogPlugin: SyncPlugin {
    let action: ActionName

    func callAsAction(_ info: RawBody, context: ActionContext) {
        let body = ActionRecord(body: info, context: context).shownBody
        context.logger.info("action", metadata: [LogField.body.rawValue: "\(body)"])
    }
}

/// Writes each action as one line. This is the plugin `print`. On stdout, a call returns once its line has been
/// written.
struct PrintPlugin: Plugin {
    let action: ActionName
    /// Where lines are written. If the reader of the pipe is not reading, a write waits for it. If `nil`, the plugin
    /// writes to stderr, for commands that use stdout for other output.
    let output: StandardOutput?

    func callAsAction(_ info: RawBody, context: ActionContext) async throws {
        let record = ActionRecord(body: info, context: context)
        guard let output else {
            return DiagnosticOutput.shared.offer(String(decoding: record.jsonLine, as: UTF8.self))
        }
        try await output.write(output.isTerminal ? record.terminalLine : record.jsonLine)
    }
}

/// Replies to each action with a fixed value. Use this to test how replies are handled.
struct ReplyPlugin: SyncPlugin {
    let action: ActionName
    let value: ReplyValue

    func callAsAction(_ info: RawBody, context: ActionContext) -> ReplyValue {
        value
    }
}

/// Throws an error on each call. Use this to test how failures are handled.
struct FailPlugin: SyncPlugin {
    /// The error that each call throws.
    struct DeliberateFailure: RetryableError, CustomStringConvertible {
        let isRetryable: Bool
        let description = "the plugin 'fail' always fails"
    }

    let action: ActionName
    /// Whether the error is marked as retryable.
    let isRetryable: Bool

    func callAsAction(_ info: RawBody, context: ActionContext) throws {
        throw DeliberateFailure(isRetryable: isRetryable)
    }
}

/// Never returns, and ignores cancellation. Use this to test how calls that hang are handled.
struct SuspendPlugin: Plugin {
    let action: ActionName

    func callAsAction(_ info: RawBody, context: ActionContext) async {
        context.logger.notice("the plugin 'suspend' never returns")
        // This continuation is deliberately never resumed. A checked continuation would report a leak when the process
        // exits.
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    }
}

/// Formats an action for the output of the configured plugins.
struct ActionRecord {
    private let body: RawBody
    private let context: ActionContext

    /// - Parameter body: The body as received. A link has no body, so the captures of its route are used instead.
    init(body: RawBody, context: ActionContext) {
        self.context = context
        self.body = ActionRecord.shown(body, context)
    }

    /// The bytes of the body for a program.
    static func input(of body: RawBody, _ context: ActionContext) -> [UInt8] { Array(shown(body, context).bytes) }

    /// Returns the body as programs and servers receive it.
    static func shown(_ body: RawBody, _ context: ActionContext) -> RawBody {
        let hasFields =
            context.origin.facts is LinkFacts
            || (context.origin.facts as? HTTPActionFacts).map { facts in
                facts.hasForm && body.kind == .json || body.bytes.isEmpty
            } ?? false
        return hasFields ? RawBody(bytes: context.action.body.json, kind: .json) : body
    }

    /// The body as readable text.
    var shownBody: String { TerminalText.body(body) }

    /// The action as a JSON object followed by a newline. The members are `source`, `action`, `id`, `receivedAt`, the
    /// facts about a push, link or chat, and `body`.
    var jsonLine: [UInt8] {
        let action = context.action
        var object = JSONObject()
        object.add("source", context.origin.source.text)
        object.add("action", action.name.text)
        object.add("id", action.id.text)
        object.add("receivedAt", WallTimeText.utc(action.receivedAt))
        object.add(context.origin.facts)
        if let push = context.origin.facts as? PushFacts {
            object.add("retained", push.retained)
            object.add("qos", push.qos)
            object.add("captures", push.captures)
        }
        object.add(body)
        return object.line
    }

    /// The action as columns for a terminal: the time of day, the source, the action, the id and the body.
    var terminalLine: [UInt8] {
        let action = context.action
        return TerminalText.line([
            TerminalText.column(WallTimeText.time(action.receivedAt), width: 13),
            TerminalText.column(context.origin.source.text, width: 10),
            TerminalText.column(action.name.text, width: 16),
            TerminalText.column(action.id.text, width: 20),
            shownBody,
        ])
    }
}
