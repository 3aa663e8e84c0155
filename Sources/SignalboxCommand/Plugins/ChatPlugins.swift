import Signalbox
import SignalboxCore
import WebSocketChat

/// Sends each action with its body to every connection with a tag, and replies with the numbers sent and refused.
struct BroadcastPlugin: SyncPlugin {
    /// The reply to the sender.
    struct Answer: Encodable, Sendable {
        let sent: Int
        let refused: Int
    }

    let action: ActionName
    let choice: TagChoice

    init(action: ActionName, tag: String?) {
        self.action = action
        choice = TagChoice(fixed: tag)
    }

    func callAsAction(_ info: RawBody, context: ActionContext) throws -> Answer {
        guard let connection = context.chat else { throw PluginDeclined.noConnection }
        guard info.kind != .bytes else { throw PluginDeclined("an envelope cannot have bytes as its body") }
        let report = connection.broadcast(action, context.action.body.json, to: try choice.tag(of: context))
        return Answer(sent: report.sent, refused: report.refused)
    }
}

/// Adds a tag to the connection that sent an action, or removes it.
struct TagPlugin: SyncPlugin {
    let action: ActionName
    let choice: TagChoice
    let joins: Bool

    init(action: ActionName, tag: String?, joins: Bool) {
        self.action = action
        choice = TagChoice(fixed: tag)
        self.joins = joins
    }

    func callAsAction(_ info: RawBody, context: ActionContext) throws {
        guard let connection = context.chat else { throw PluginDeclined.noConnection }
        let tag = try choice.tag(of: context)
        guard joins else { return connection.leave(tag) }
        guard connection.join(tag) else {
            throw PluginDeclined("the connection has reached its limit of tags, or the tag is not 1 to 128 bytes")
        }
    }
}

/// The tag of a plugin: the configured tag, or else the tag in the body.
struct TagChoice: Sendable {
    let fixed: String?

    private struct Named: Decodable {
        let tag: String
    }

    /// - Throws: `PluginDeclined` if neither specifies a tag.
    func tag(of context: ActionContext) throws(PluginDeclined) -> String {
        if let fixed { return fixed }
        do throws(BodyError) {
            return try context.body.decode(Named.self).tag
        } catch {
            throw PluginDeclined("the body names no tag: \(error)")
        }
    }
}

/// Sends each body back to its sender: text as a text message, bytes as a binary message, and JSON as the reply.
struct EchoPlugin: SyncPlugin {
    let action: ActionName

    func callAsAction(_ info: RawBody, context: ActionContext) throws -> ReplyValue {
        switch info.kind {
        case .json: return try context.body.decode(ReplyValue.self)
        case .text: try EchoPlugin.connection(of: context).send(text: info.bytes.text ?? "")
        case .bytes: try EchoPlugin.connection(of: context).send(binary: info.bytes)
        }
        return .null
    }

    private static func connection(of context: ActionContext) throws(PluginDeclined) -> ChatConnection {
        guard let connection = context.chat else { throw .noConnection }
        return connection
    }
}

extension PluginDeclined {
    /// The rejection of an action that did not arrive on a WebSocket connection.
    static let noConnection = PluginDeclined("the action did not come from a connection of a chat or feed")
}
