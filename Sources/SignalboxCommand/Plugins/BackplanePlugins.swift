import AdapterSupport
import MQTTPush
import Signalbox
import SignalboxCore
import Synchronization
import WebSocketChat

/// Publishes each broadcast of a chat with a backplane to the broker, and returns when the broker has accepted it. The clients
/// of every program, this one too, receive it from the broker, so that all see the broadcasts of a tag in one order.
struct BackplaneBroadcast: Sendable {
    /// The reply to the sender. How many clients receive the broadcast is not known.
    private static let published = Bytes(#"{"published":true}"#)

    let action: ActionName
    /// The chat, or `nil` for the one that the action came from.
    let chat: SourceName?
    /// The tag, or `nil` if the body names it.
    let tag: String?
    /// The backplanes of the chats that have one.
    let backplanes: [SourceName: BackplaneSection]
    let targets: TargetTable
    /// Makes the ids of this plugin's broadcasts different from all others.
    private let prefix = String(UInt64.random(in: .min ... .max), radix: 36)

    init(
        action: ActionName,
        chat: SourceName?,
        tag: String?,
        backplanes: [SourceName: BackplaneSection],
        targets: TargetTable
    ) {
        (self.action, self.chat, self.tag, self.backplanes, self.targets) = (action, chat, tag, backplanes, targets)
    }

    /// - Parameter timeout: How long the broker may take.
    func reply(to info: RawBody, _ context: ActionContext, timeout: Duration) async throws -> Bytes? {
        if chat == nil { try context.action.checkConnection() }
        guard let backplane = backplanes[chat ?? context.origin.source] else {
            let local = BroadcastPlugin(action: action, tag: tag)
            return try BodyWriter.write(try local.callAsAction(info, context: context))
        }
        let body = try context.action.envelopeBody(info)
        let tag = try context.action.tag(tag)
        // No connection can have such a tag, and its topic would not be one level.
        guard Action.tagLengths.contains(tag.utf8.count) else { return BackplaneBroadcast.published }
        guard case .broker(let publisher) = try targets.target(backplane.source) else {
            throw ForwardingFailure(wrongKind: backplane.source)
        }
        let id = id(for: context)
        var message = MQTTMessage(
            AnswerWriter.envelope(action, id: id, body: body),
            to: "\(backplane.topic)/\(TagLevel.level(of: tag))"
        )
        if publisher.configuration.version == .v5 {
            message.contentType = "application/json"
            message.add(context.passedTrace)
        }
        try await publisher.forward(message, timeout: timeout)
        return BackplaneBroadcast.published
    }

    /// Returns the id of an action's broadcast. Each attempt has the same id, so that a broadcast whose acknowledgement was lost
    /// reaches the clients once.
    private func id(for context: ActionContext) -> ActionID? {
        let (arrival, time) = (context.arrival, context.arrival.receivedAt)
        let parts = [UInt64(bitPattern: time.seconds), UInt64(time.nanoseconds), arrival.token]
        let numbers = parts.map { String($0, radix: 36) }.joined(separator: "-")
        return ActionID("\(prefix)-\(context.origin.source)-\(numbers)")
    }
}

/// Sends the broadcasts that a broker delivers to the connections of their chat.
struct DeliverPlugin: SyncPlugin {
    let action: ActionName
    /// The chats by the sources that receive their broadcasts.
    let chats: [SourceName: SourceName]
    let targets: TargetTable
    private let recent = RecentBroadcasts()

    init(action: ActionName, chats: [SourceName: SourceName], targets: TargetTable) {
        (self.action, self.chats, self.targets) = (action, chats, targets)
    }

    func callAsAction(_ info: RawBody, context: ActionContext) throws {
        let source = context.origin.source
        guard let chat = chats[source], let facts = context.origin.facts as? PushFacts else {
            throw PluginDeclined("only a chat's backplane may send this action")
        }
        guard let level = facts.topic.split(separator: "/", omittingEmptySubsequences: false).last,
            let tag = TagLevel.tag(of: level)
        else { throw PluginDeclined("the topic of a broadcast ends with its tag, percent-encoded") }
        let (name, id) = try BackplaneMessage.head(of: context.body)
        guard case .chat(let server) = try targets.target(chat) else { throw ForwardingFailure(wrongKind: chat) }
        guard recent.insert(id, of: source) else { return }
        let body = context.body.member(at: ["body"])?.json ?? Bytes("null")
        let report = server.broadcast(name, body, to: tag)
        guard report.sent > 0 || report.refused == 0 else {
            throw ForwardingFailure(
                description: "not sent: all \(report.refused) connections of the chat \(chat) with the tag refused it",
                isRetryable: false
            )
        }
    }
}

/// A broadcast between programs: a standard envelope.
enum BackplaneMessage {
    private struct Head: Decodable {
        let action: String
        let id: String?
    }

    /// Returns the action and the id of a broadcast.
    ///
    /// - Throws: `PluginDeclined` if the body is no such envelope.
    static func head(of body: Body) throws(PluginDeclined) -> (action: ActionName, id: String?) {
        do {
            let head = try body.decode(Head.self)
            guard head.id.map({ ActionID($0) != nil }) ?? true else {
                throw PluginDeclined("the id of a broadcast has 1 to 128 bytes, and no control characters")
            }
            return (try ActionName(head.action), head.id)
        } catch let error as PluginDeclined {
            throw error
        } catch {
            throw PluginDeclined("a broadcast is an envelope { \"action\", \"id\", \"body\" }: \(error)")
        }
    }
}

/// The last level of a broadcast's topic, which is the tag with every byte percent-encoded except letters, digits, `-`, `.`, `_`
/// and `~` (RFC 3986, 2.3). A tag has exactly one level, as the broker keeps the order of one topic.
enum TagLevel {
    private static let digits = Array("0123456789ABCDEF".utf8)

    static func level(of tag: String) -> String {
        var level: [UInt8] = []
        for byte in tag.utf8 {
            if isPlain(byte) {
                level.append(byte)
            } else {
                level += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: level, as: UTF8.self)
    }

    /// Returns the tag of a level, or `nil` if no tag has this level.
    static func tag(of level: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(level.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digits.firstIndex),
                let low = rest.popFirst().flatMap(digits.firstIndex)
            else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        guard let tag = String(validating: bytes, as: UTF8.self), Action.tagLengths.contains(bytes.count) else {
            return nil
        }
        return self.level(of: tag) == level ? tag : nil
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "-._~".utf8.contains(byte)
        }
    }
}

/// The ids of the broadcasts that arrived last, for each source. A publisher sends a broadcast again if its connection breaks
/// before the acknowledgement.
final class RecentBroadcasts: Sendable {
    /// The number of ids of each source that are remembered.
    static let limit = 4_096
    private let recent = Mutex<[SourceName: RecentIDs]>([:])

    /// - Returns: Whether the source has not delivered the id yet. A broadcast without an id is always new.
    func insert(_ id: String?, of source: SourceName) -> Bool {
        guard let id else { return true }
        return recent.withLock { $0[source, default: RecentIDs(limit: RecentBroadcasts.limit)].insert(id) }
    }
}

/// The last ids that were seen. At the limit, the oldest is forgotten.
struct RecentIDs {
    private let limit: Int
    private var known: Set<String> = []
    private var order: [String] = []
    private var next = 0

    init(limit: Int) { self.limit = limit }

    /// - Returns: Whether the id was not there yet.
    mutating func insert(_ id: String) -> Bool {
        guard known.insert(id).inserted else { return false }
        guard order.count == limit else {
            order.append(id)
            return true
        }
        known.remove(order[next])
        order[next] = id
        next = (next + 1) % limit
        return true
    }
}
