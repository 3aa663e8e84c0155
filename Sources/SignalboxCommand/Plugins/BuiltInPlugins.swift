import AppScheme
import Logging
import MQTTPush
import Signalbox
import SignalboxCore
import Synchronization

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

/// Publishes each action's body through a source, and returns when the broker has accepted the message.
struct PublishPlugin: Plugin {
    let action: ActionName
    let section: PublishSection
    let publishers: PublisherTable

    func callAsAction(_ info: RawBody, context: ActionContext) async throws {
        let topic: String
        do throws(TopicTemplateError) {
            topic = try section.topic.topic(for: context.action.name, id: context.id)
        } catch {
            throw PluginDeclined(error.description)
        }
        guard let publisher = publishers.publisher(of: section.source) else {
            throw PublishFailure(
                description: "the source \(section.source) does not run in this command",
                isRetryable: false
            )
        }
        let payload = info.kind == .json ? Array(context.action.body.json) : Array(info.bytes)
        var message = MQTTMessage(payload, to: topic, qos: section.qos, retain: section.retain)
        if info.kind == .json, publisher.configuration.version == .v5 { message.contentType = "application/json" }
        do throws(MQTTPublishError) {
            _ = try await publisher.publish(message)
        } catch {
            let mayPass = [.queueFull, .timeout, .notConnected].contains(error.code)
            throw PublishFailure(
                description: "not published to \(topic.debugDescription): \(error)",
                isRetryable: mayPass,
                whenExhausted: mayPass || [.stopped, .cancelled].contains(error.code) ? .abandon : .deadLetter
            )
        }
    }
}

/// The reason why an action's body was not published.
struct PublishFailure: RetryableError, CustomStringConvertible {
    /// The error, and the topic for which it occurred.
    let description: String
    /// Whether another attempt may succeed.
    let isRetryable: Bool
    /// What happens to the action after the last attempt. This is `abandon` if the message may still be published
    /// later.
    var whenExhausted = RetryExhaustion.deadLetter
}

/// Holds the publishers of the running sources, for plugins that publish through them. Safe to use from any thread.
final class PublisherTable: Sendable {
    private let publishers = Mutex<[SourceName: MQTTPublisher]>([:])

    /// Returns the source's publisher, or `nil` if no such source is running.
    func publisher(of source: SourceName) -> MQTTPublisher? {
        publishers.withLock { $0[source] }
    }

    /// Stores the publisher of a source that is starting. This replaces any earlier publisher of the source.
    func store(_ publisher: MQTTPublisher, of source: SourceName) {
        publishers.withLock { $0[source] = publisher }
    }
}

/// Formats an action for the output of the configured plugins.
struct ActionRecord {
    private let body: RawBody
    private let context: ActionContext

    /// - Parameter body: The body as received. A link has no body, so the captures of its route are used instead.
    init(body: RawBody, context: ActionContext) {
        self.context = context
        let isLink = context.origin.facts is LinkFacts
        self.body = isLink ? RawBody(bytes: context.action.body.json, kind: .json) : body
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
