import Signalbox
import SignalboxCore
import WebSocketChat

/// Sends each action and its body to every connection that has a tag. The reply contains how many connections the
/// action was sent to, and how many refused it.
struct BroadcastPlugin: SyncPlugin {
    /// The reply to the sender.
    struct Answer: Encodable, Sendable {
        let sent: Int
        let refused: Int
    }

    let action: ActionName
    /// The tag, or `nil` if the body names it.
    let tag: String?

    func callAsAction(_ info: RawBody, context: ActionContext) throws -> Answer {
        let connection = try context.connection
        let body = try context.action.envelopeBody(info)
        let report = connection.broadcast(action, body, to: try tag ?? context.action.tagInBody)
        return Answer(sent: report.sent, refused: report.refused)
    }
}

/// Adds a tag to the connection that sent the action, or removes the tag from that connection.
struct TagPlugin: SyncPlugin {
    let action: ActionName
    /// The tag, or `nil` if the body names it.
    let tag: String?
    let joins: Bool

    func callAsAction(_ info: RawBody, context: ActionContext) throws {
        let connection = try context.connection
        let tag = try tag ?? context.action.tagInBody
        guard joins else { return connection.leave(tag) }
        guard connection.join(tag) else {
            throw PluginDeclined("the connection has reached its limit of tags, or the tag is not 1 to 128 bytes")
        }
    }
}

/// Sends each body back to its sender. Text is sent as a text message, bytes are sent as a binary message, and JSON is
/// sent as the reply.
enum EchoPlugin {
    /// Returns the reply as JSON text. It has the numbers and the order of the body, which an encoder would change.
    @Sendable static func reply(to info: RawBody, _ context: ActionContext) throws -> Bytes {
        switch info.kind {
        case .json: return context.body.json
        case .text: try context.connection.send(text: info.bytes.text ?? "")
        case .bytes: try context.connection.send(binary: info.bytes)
        }
        return Bytes(Array("null".utf8))
    }
}

extension ActionContext {
    /// The connection on which the action arrived.
    ///
    /// - Throws: `PluginDeclined` if the action did not arrive on a WebSocket connection.
    fileprivate var connection: ChatConnection {
        get throws(PluginDeclined) {
            if let chat { return chat }
            throw PluginDeclined("the action did not come from a connection of a chat or feed")
        }
    }

}

extension Action {
    /// The tag that the body names.
    ///
    /// - Throws: `PluginDeclined` if the body does not name a tag.
    var tagInBody: String {
        get throws(PluginDeclined) {
            do throws(BodyError) {
                return try body.decode(NamedTag.self).tag
            } catch {
                throw PluginDeclined(
                    "the body names no tag: \(error); give the plugin a 'tag', or let the body have a member 'tag'"
                )
            }
        }
    }
}

private struct NamedTag: Decodable {
    let tag: String
}
