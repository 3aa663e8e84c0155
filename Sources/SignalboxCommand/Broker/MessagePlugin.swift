import MQTTPush
import SignalboxCore
import SignalboxRoutes
import Synchronization

/// Writes a line for each message to stdout until enough are written. Later messages are discarded.
final class MessagePlugin: Plugin {
    /// The reason messages are discarded.
    enum StopReason: Sendable {
        case countReached
        case timeout
    }

    private struct State {
        var shown = 0
        var stopReason: StopReason?
    }

    let action: ActionName
    private let count: Int?
    private let output: StandardOutput
    private let line: @Sendable (RawBody, ActionContext) -> [UInt8]
    private let onCountReached: @Sendable () -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - count: The number of messages to write, or `nil` for no limit.
    ///   - line: Returns the output for a message, with its newline.
    ///   - onCountReached: Called once, after the last message of `count` is written.
    init(
        action: ActionName,
        count: Int?,
        output: StandardOutput,
        line: @escaping @Sendable (RawBody, ActionContext) -> [UInt8],
        onCountReached: @escaping @Sendable () -> Void
    ) {
        self.action = action
        self.count = count
        self.output = output
        self.line = line
        self.onCountReached = onCountReached
    }

    /// The number of messages written.
    var shown: Int { state.withLock { $0.shown } }
    /// The reason messages are discarded, or `nil` while they are written.
    var stopReason: StopReason? { state.withLock { $0.stopReason } }

    /// Discards all further messages. The first reason is kept.
    func close(because reason: StopReason) {
        state.withLock { if $0.stopReason == nil { $0.stopReason = reason } }
    }

    func callAsAction(_ info: RawBody, context: ActionContext) async throws {
        guard stopReason == nil else { return }
        try await output.write(line(info, context))
        let isLast = state.withLock { state in
            state.shown += 1
            guard state.stopReason == nil, state.shown == count else { return false }
            state.stopReason = .countReached
            return true
        }
        if isLast { onCountReached() }
    }
}

/// A message as `subscribe` prints it.
struct MessageRecord {
    let payload: Bytes
    let context: ActionContext
    let patterns: [TopicPattern]

    /// One JSON object with a newline.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        let push = context.origin.facts as? PushFacts
        object.add("topic", push?.topic)
        if let json = JSONPayload.compact(payload, origin: context.origin, limits: SubscribeRequest.limits) {
            object.add("payload", json: json)
        } else {
            object.add("payload", content: payload)
        }
        object.add("retained", push?.retained ?? false)
        object.add("qos", push?.qos ?? 0)
        object.add("receivedAt", WallTimeText.utc(context.action.receivedAt))
        if let captures { object.add("captures", json: captures) }
        return object.line
    }

    /// Time of day, topic, payload.
    var terminalLine: [UInt8] {
        let time = WallTimeText.utc(context.action.receivedAt).dropFirst(11)
        let topic = (context.origin.facts as? PushFacts)?.topic ?? ""
        let shown =
            JSONPayload.compact(payload, origin: context.origin, limits: SubscribeRequest.limits).map {
                String(decoding: $0, as: UTF8.self)
            }
            ?? payload.text.map(LineEscape.escaped) ?? "(\(payload.count) bytes)"
        let columns = [TerminalText.column(String(time), width: 13), TerminalText.column(topic, width: 32), shown]
        return Array((columns.joined(separator: "  ") + "\n").utf8)
    }

    /// The captures of the first pattern that matches the topic, as a JSON object.
    private var captures: [UInt8]? {
        guard let topic = (context.origin.facts as? PushFacts)?.topic,
            let found = patterns.lazy.compactMap({ $0.match(topic) }).first, !found.isEmpty
        else { return nil }
        var object = JSONObject()
        for capture in found { object.add(capture.name, capture.value) }
        return object.bytes
    }
}

/// Recognizes JSON payloads with the package's strict parser.
enum JSONPayload {
    private static let pool = ArrivalPool()

    /// Returns the payload without insignificant white space, or `nil` if it is empty or not JSON. Duplicate members
    /// and more than 64 levels of nesting are not accepted either.
    ///
    /// - Parameter limits: The limits of the message.
    static func compact(_ payload: Bytes, origin: Origin, limits: MessageLimits) -> [UInt8]? {
        guard !payload.isEmpty else { return nil }
        var batch = ArrivalBatch(pool: pool, limits: limits)
        let naming = RouteNaming(action: SubscribeRequest.action)
        payload.withUnsafeBytes {
            batch.append($0, token: 0, origin: origin, receivedAt: WallTime(seconds: 0), envelope: .route(naming))
        }
        guard case .success? = batch.take().first?.reading else { return nil }
        return EscapedJSON.compact(payload)
    }
}
