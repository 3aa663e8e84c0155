import AppScheme
import JSBridge
import MQTTPush
import Signalbox
import SignalboxCore
import WebSocketChat

/// Publishes each action's body through an MQTT source, and returns when the broker has accepted the message. This is
/// the plugin `send` with the name of an MQTT source, and the plugin `publish`.
struct PublishPlugin: Plugin {
    let action: ActionName
    let section: PublishSection
    let targets: TargetTable

    func callAsAction(_ info: RawBody, context: ActionContext) async throws {
        let topic = try section.topic(for: context.action)
        guard case .broker(let publisher) = try targets.target(section.source) else {
            throw ForwardingFailure(wrongKind: section.source)
        }
        let payload = context.isJSON(info) ? Array(context.action.body.json) : Array(info.bytes)
        var message = section.properties
        (message.payload, message.topic, message.qos, message.retain) = (payload, topic, section.qos, section.retain)
        if context.isJSON(info), publisher.configuration.version == .v5, message.contentType == nil {
            message.contentType = "application/json"
        }
        if publisher.configuration.version == .v5 { message.add(context.passedTrace) }
        try await publisher.forward(message)
    }
}

extension MQTTPublisher {
    /// Publishes a plugin's message, and returns when the broker has accepted it.
    ///
    /// - Parameter timeout: How long this may take, or `nil` for the publisher's own limit. A message that has not been sent
    ///   then is not sent later.
    func forward(_ message: MQTTMessage, timeout: Duration? = nil) async throws(ForwardingFailure) {
        do throws(MQTTPublishError) {
            _ = try await publish(message, timeout: timeout ?? configuration.publishTimeout)
        } catch {
            // A reload of the target stops its publisher, and a retry finds the next one.
            let mayPass = [.queueFull, .timeout, .notConnected, .stopped].contains(error.code)
            throw ForwardingFailure(
                description: "not published to \(message.topic.debugDescription): \(error)",
                isRetryable: mayPass,
                whenExhausted: mayPass || error.code == .cancelled ? .abandon : .deadLetter
            )
        }
    }
}

/// Sends each action to the server of a feed, or to a page. This is the plugin `send`.
///
/// A page's listener is called, and the value that it returns is the reply. A message to a feed's server is sent once
/// the connection has queued it, and has no reply unless the plugin asks for it.
struct SendPlugin: Sendable {
    let action: ActionName
    let source: SourceName
    /// Whether the plugin waits for the answer of a feed's server.
    let asksServer: Bool
    let targets: TargetTable

    /// Sends the action and returns the reply as JSON text, unchanged.
    ///
    /// - Parameter timeout: How long a page or a server may take to answer.
    func reply(to info: RawBody, _ context: ActionContext, timeout: Duration) async throws -> Bytes {
        let body = try context.action.envelopeBody(info)
        switch try targets.target(source) {
        case .feed(let feed):
            guard let connection = feed.connection else {
                throw ForwardingFailure.temporary("not sent: the feed \(source) is not connected")
            }
            if asksServer { return try await call(connection, body, timeout) }
            try send(body, on: connection)
            return Bytes("null")
        case .page(let page): return try await call(page, body, timeout)
        case .chat, .broker: throw ForwardingFailure(wrongKind: source)
        }
    }

    private func send(_ body: Bytes, on connection: ChatConnection) throws(ForwardingFailure) {
        do throws(SendRefused) {
            // Without an id, the server does not answer. An answer would be an arrival of the feed that has no action.
            try connection.send(action, id: nil, body: body)
        } catch {
            switch error {
            case .closed: throw .temporary("not sent: the connection of the feed \(source) has closed")
            case .full: throw .temporary("not sent: the server of the feed \(source) reads too slowly")
            default:
                let reason = "not sent: the feed \(source) refuses the message: \(error)"
                throw ForwardingFailure(description: reason, isRetryable: false)
            }
        }
    }

    private func call(
        _ connection: ChatConnection,
        _ body: Bytes,
        _ timeout: Duration
    ) async throws(ForwardingFailure) -> Bytes {
        do throws(ChatCallError) {
            // A configuration may give a plugin more time than a call can take.
            return try await connection.call(action, json: body, timeout: min(timeout, .seconds(3_600)))
        } catch {
            let reason = "not taken by the server of the feed \(source): \(error)"
            if [.closed, .full].contains(error.code) || error.outcome == "abandoned" { throw .temporary(reason) }
            throw ForwardingFailure(description: reason, isRetryable: error.code == .timeout)
        }
    }

    private func call(_ page: PageHandle, _ body: Bytes, _ timeout: Duration) async throws -> Bytes {
        do throws(PageCallError) {
            return try await page.call(action, json: body, timeout: timeout)
        } catch {
            let reason = "not taken by the page \(source): \(error)"
            switch error.code {
            case .closed, .full: throw ForwardingFailure.temporary(reason)
            default: throw ForwardingFailure(description: reason, isRetryable: error.code == .timeout)
            }
        }
    }
}

/// Sends each action and its body to the connections of another source, a chat, that have a tag. This is the plugin
/// `broadcast` with the key `to`.
struct BroadcastToPlugin: Plugin {
    let action: ActionName
    let source: SourceName
    /// The tag, or `nil` if the body names it.
    let tag: String?
    let targets: TargetTable

    func callAsAction(_ info: RawBody, context: ActionContext) async throws -> BroadcastPlugin.Answer {
        let body = try context.action.envelopeBody(info)
        let tag = try context.action.tag(tag)
        guard case .chat(let server) = try targets.target(source) else { throw ForwardingFailure(wrongKind: source) }
        // A message may arrive before the chat listens, when the program starts.
        if !server.isRunning { _ = await server.port() }
        guard server.isRunning else {
            throw ForwardingFailure.temporary("not sent: the chat \(source) is not running")
        }
        let report = server.broadcast(action, body, to: tag)
        guard report.sent > 0 || report.refused == 0 else {
            let connections = report.refused == 1 ? "connection" : "connections"
            throw ForwardingFailure(
                description: "not sent: \(report.refused) \(connections) of the chat \(source) refused the message",
                isRetryable: true
            )
        }
        return BroadcastPlugin.Answer(sent: report.sent, refused: report.refused)
    }
}

extension MQTTMessage {
    /// The maximum number of user properties of a message.
    private static let propertyLimit = 64

    /// Adds a trace context as user properties (W3C Trace Context: MQTT protocol, 4), unless the configuration sets one.
    mutating func add(_ trace: TraceContext?) {
        guard let trace, !userProperties.contains(where: { $0.name == TraceContext.parentKey }) else { return }
        for (name, value) in trace.members where userProperties.count < MQTTMessage.propertyLimit {
            userProperties.append(UserProperty(name: name, value: value))
        }
    }
}

extension PublishSection {
    /// Returns the topic to which the action is published.
    ///
    /// - Throws: `PluginDeclined` if the action's id cannot be a level of the topic.
    fileprivate func topic(for action: Action) throws(PluginDeclined) -> String {
        do throws(TopicTemplateError) {
            return try topic.topic(for: action.name, id: action.id)
        } catch {
            throw PluginDeclined(error.description)
        }
    }
}

extension ForwardingFailure {
    /// The source has a different kind than the configuration says. The command that runs replaced it.
    init(wrongKind source: SourceName) {
        self.init(description: "nothing can be sent to the source \(source) in this command", isRetryable: false)
    }
}

extension ActionContext {
    /// Whether the action is forwarded as JSON. A link has no body, so the captures of its route are forwarded.
    fileprivate func isJSON(_ info: RawBody) -> Bool { info.kind == .json || origin.facts is LinkFacts }
}

extension Action {
    /// Returns the body to forward in an envelope. It includes the captures of the route.
    ///
    /// - Throws: `PluginDeclined` if the body is bytes.
    func envelopeBody(_ info: RawBody) throws(PluginDeclined) -> Bytes {
        guard info.kind != .bytes else { throw PluginDeclined("an envelope cannot have bytes as its body") }
        return body.json
    }
}

extension PluginUse {
    /// Returns why the plugin declines the action whenever it is called with it, or `nil` if that depends on the state
    /// of the program.
    func refusal(of action: Action) -> PluginDeclined? {
        guard let info = try? action.body.decode(RawBody.self) else { return nil }
        do throws(PluginDeclined) {
            switch self {
            case .echo: if info.kind != .json { try action.checkConnection() }
            case .broadcast(let target, let tag):
                if target == nil { try action.checkConnection() }
                _ = try action.envelopeBody(info)
                _ = try action.tag(tag)
            case .join(let tag):
                try action.checkConnection()
                _ = try action.tagToJoin(tag)
            case .leave(let tag):
                try action.checkConnection()
                _ = try action.tag(tag)
            case .send: _ = try action.envelopeBody(info)
            case .publish(let section): _ = try section.topic(for: action)
            case .chain(let steps): return PluginUse.refusal(of: action, by: steps)
            case .deliver, .log, .print, .file, .exec, .process, .http, .fail, .suspend, .reply, .map, .filter,
                .throttle,
                .aggregate,
                .sample:
                break
            }
            return nil
        } catch {
            return error
        }
    }

    /// Returns why a chain declines each action of this form: because of the first step that may not let it pass, or receives the
    /// body as it came.
    private static func refusal(of action: Action, by steps: [PluginUse]) -> PluginDeclined? {
        let direct = steps.prefix { use in
            switch use {
            case .map, .filter, .throttle, .aggregate, .sample: false
            default: true
            }
        }
        return direct.lazy.compactMap { $0.refusal(of: action) }.first
    }
}
