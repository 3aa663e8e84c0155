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
        let report = connection.broadcast(action, body, to: try context.action.tag(tag))
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
        guard joins else { return connection.leave(try context.action.tag(tag)) }
        guard connection.join(try context.action.tagToJoin(tag)) else {
            throw PluginDeclined("the connection has ended, or has reached its limit of tags")
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
            throw .withoutConnection
        }
    }
}

extension PluginDeclined {
    fileprivate static let withoutConnection = PluginDeclined(
        "the action did not come from a connection of a chat or feed"
    )
}

extension Action {
    /// The number of bytes that a tag of a connection can have.
    static let tagLengths = 1...128

    /// Checks that the action arrived on a WebSocket connection, before there is one.
    func checkConnection() throws(PluginDeclined) {
        guard origin.facts is ChatFacts else { throw .withoutConnection }
    }

    /// Returns the configured tag, or, if there is none, the tag that the body names. No connection can have a tag of
    /// another length than ``tagLengths``, so a broadcast to it reaches no one.
    func tag(_ configured: String?) throws(PluginDeclined) -> String {
        if let configured { return configured }
        return try tagInBody
    }

    /// Returns the tag for a connection to join: the configured tag, or, if there is none, the tag that the body names.
    ///
    /// - Throws: `PluginDeclined` if no connection can have the tag.
    func tagToJoin(_ configured: String?) throws(PluginDeclined) -> String {
        let tag = try tag(configured)
        let lengths = Action.tagLengths
        guard lengths.contains(tag.utf8.count) else {
            let words = "a tag has \(lengths.lowerBound) to \(lengths.upperBound) bytes"
            throw PluginDeclined("\(words), but the one in the body has \(tag.utf8.count)")
        }
        return tag
    }

    private var tagInBody: String {
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
