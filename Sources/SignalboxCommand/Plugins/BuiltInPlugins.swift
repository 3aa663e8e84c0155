import AppScheme
import Logging
import MQTTPush
import Signalbox
import SignalboxCore
import Synchronization

/// Writes each action as one log line.
struct LogPlugin: SyncPlugin {
    let action: ActionName

    func callAsAction(_ info: RawBody, context: ActionContext) {
        let body = ActionRecord(body: info, context: context).shownBody
        context.logger.info("action", metadata: [LogField.body.rawValue: "\(body)"])
    }
}

/// Writes each action as one line. A call returns when a line for stdout has been written.
struct PrintPlugin: Plugin {
    let action: ActionName
    /// Standard output, where a write waits while the reader of the pipe does not read. `nil` is standard error, for
    /// commands that use stdout for other output.
    let output: StandardOutput?

    func callAsAction(_ info: RawBody, context: ActionContext) async throws {
        let record = ActionRecord(body: info, context: context)
        guard let output else {
            return DiagnosticOutput.shared.offer(String(decoding: record.jsonLine, as: UTF8.self))
        }
        try await output.write(output.isTerminal ? record.terminalLine : record.jsonLine)
    }
}

/// Replies to each action with a fixed value, to test the handling of replies.
struct ReplyPlugin: SyncPlugin {
    let action: ActionName
    let value: ReplyValue

    func callAsAction(_ info: RawBody, context: ActionContext) -> ReplyValue {
        value
    }
}

/// Throws an error at each call, to test the handling of failures.
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

/// Never returns and ignores cancellation, to test the handling of calls that hang.
struct SuspendPlugin: Plugin {
    let action: ActionName

    func callAsAction(_ info: RawBody, context: ActionContext) async {
        context.logger.notice("the plugin 'suspend' never returns")
        // Deliberately never resumed. A checked continuation would report a leak when the process exits.
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    }
}

/// Publishes each action's body through a source, and returns when the broker has accepted it.
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

/// The reason that an action's body was not published.
struct PublishFailure: RetryableError, CustomStringConvertible {
    /// The error and its topic.
    let description: String
    /// Whether another attempt may succeed.
    let isRetryable: Bool
    /// What happens after the last attempt: `abandon` if the message may be published later.
    var whenExhausted = RetryExhaustion.deadLetter
}

/// The publishers of the running sources, for plugins that publish through them. Callable from any thread.
final class PublisherTable: Sendable {
    private let publishers = Mutex<[SourceName: MQTTPublisher]>([:])

    /// Returns the publisher of a source, or `nil` if no such source is running.
    func publisher(of source: SourceName) -> MQTTPublisher? {
        publishers.withLock { $0[source] }
    }

    /// Stores the publisher of a source that starts, in place of an earlier one.
    func store(_ publisher: MQTTPublisher, of source: SourceName) {
        publishers.withLock { $0[source] = publisher }
    }
}

/// An action as formatted by the plugins of a configuration.
struct ActionRecord {
    private let body: RawBody
    private let context: ActionContext

    /// - Parameter body: The body as received. A link has none: the captures of its route become the body.
    init(body: RawBody, context: ActionContext) {
        self.context = context
        let isLink = context.origin.facts is LinkFacts
        self.body = isLink ? RawBody(bytes: context.action.body.json, kind: .json) : body
    }

    /// The body as readable text.
    var shownBody: String { TerminalText.body(body) }

    /// A JSON object with a newline: `source`, `action`, `id`, `receivedAt`, facts of a push, link or chat, `body`.
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

    /// The columns for a terminal: time of day, source, action, id, body.
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
